"""What is shown: notes and bars on standard error, results on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

__all__ = ["Counted", "announce_compilations", "counting", "note", "print_table", "say"]

#: Without a terminal there is a line whenever this number of seconds has passed.
BETWEEN_LINES = 5.0


def say(text: str = "") -> None:
    """Write a line of results on standard output; it is not coloured or changed."""
    Console(highlight=False, soft_wrap=True).print(text, markup=False)


def note(text: str) -> None:
    """Write a remark on standard error, above a bar if there is one."""
    if "tqdm" in sys.modules:
        from tqdm.auto import tqdm

        tqdm.write(text, file=sys.stderr)
    else:
        sys.stderr.write(f"{text}\n")


def print_table(
    columns: list[str],
    rows: list[list[str]],
    title: str = "",
    best: set[int] | None = None,
    justify: Literal["left", "right"] = "right",
) -> None:
    """Write a table on standard output; the rows of these numbers are bold."""
    table = Table(title=title or None, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else justify, overflow="fold")
    for index, row in enumerate(rows):
        # Cells may come from the user: they are shown as they are, without markup.
        table.add_row(*[_plain(cell) for cell in row], style="bold" if best and index in best else None)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    console.print(table)


def _plain(cell: str) -> str:
    from rich.markup import escape

    # A file may hold characters that would control a terminal.
    return escape("".join(letter if letter.isprintable() else " " for letter in cell))


class Counted:
    """A count of work that is done, shown as a bar on a terminal and as lines elsewhere."""

    def __init__(self, name: str, total: float, unit: str, quiet: bool = False) -> None:
        self.name, self.total, self.done = name, max(total, 1), 0.0
        self._bar: Any = None
        self._last = perf_counter()
        self.quiet = quiet
        if quiet:
            return
        # Imported here: help should not wait for the compiler.
        from gramian.progress import shows_bars

        if shows_bars():
            from tqdm.auto import tqdm

            self._bar = tqdm(
                desc=name, total=total, unit=unit, unit_scale=unit == "B", file=sys.stderr, dynamic_ncols=True
            )
        else:
            note(f"{name} ...")

    def advance(self, amount: float, name: str = "") -> None:
        """Count an amount of work, and show what is done next."""
        self.reach(self.done + amount, name)

    def reach(self, done: float, name: str = "") -> None:
        """Show that an amount `done` of the work is done."""
        self.done = max(min(done, self.total), self.done)
        if self._bar is not None:
            if name:
                self._bar.set_description_str(f"{self.name}: {name}", refresh=False)
            self._bar.update(self.done - self._bar.n)
        elif not self.quiet and perf_counter() - self._last >= BETWEEN_LINES:
            self._last = perf_counter()
            note(f"{self.name}: {100 * self.done / self.total:.0f} %{f', {name}' if name else ''}")

    def close(self) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.close()


@contextmanager
def counting(name: str, total: float, unit: str = "", *, quiet: bool = False) -> Iterator[Counted]:
    """Return a context with a count of work, which is shown until its end."""
    counted = Counted(name, total, unit, quiet)
    try:
        yield counted
    finally:
        counted.close()


class Announcer:
    """Tells which kernels are compiled, where no bar of a fit does."""

    def note(self, text: str) -> None:
        """Write a remark."""
        note(text)


@contextmanager
def announce_compilations(wanted: bool) -> Iterator[None]:
    """Return a context in which long compilations are announced, if wanted."""
    from gramian._kernels.compiled import WATCHERS

    announcer = Announcer()
    if wanted:
        WATCHERS.add(announcer)
    try:
        yield
    finally:
        WATCHERS.discard(announcer)
