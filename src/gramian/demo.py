"""A demonstration: `python -m gramian.demo` is `gramian demo`, with its options; see `--help`."""

from __future__ import annotations

import sys

from gramian.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.argv.insert(1, "demo")
    main()
