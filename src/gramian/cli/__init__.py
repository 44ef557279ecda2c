"""The command line `gramian`: fits, maps, neighbours, comparisons and reports without a line of Python."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

#: What the extra `cli` installs, by the names of the modules.
NEEDED = ("typer", "rich", "tqdm", "skrub", "pyarrow", "pandas", "skops")


def main() -> None:
    """Run the command line with the arguments of the process, and end the process with its exit code.

    Examples
    --------
    >>> import sys
    >>> from unittest import mock
    >>> from gramian.cli import main
    >>> with mock.patch.object(sys, "argv", ["gramian", "--version"]):
    ...     try:
    ...         main()
    ...     except SystemExit as end:
    ...         print("exit code", end.code)
    gramian ...
    exit code 0
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(f"gramian's command line needs {', '.join(missing)}. Install: pip install 'gramian[cli]'\n")
        sys.exit(1)
    from gramian.cli.app import run

    sys.exit(run(sys.argv[1:]))
