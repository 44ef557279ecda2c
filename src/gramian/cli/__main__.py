"""`python -m gramian.cli` is the command line too."""

from gramian.cli import main

if __name__ == "__main__":
    main()
