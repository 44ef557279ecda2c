"""Rows of text as a table: Markdown for a page, aligned columns for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["markdown_table", "text_table"]

Cells = Sequence[str]


def markdown_table(headings: Cells, rows: Iterable[Cells]) -> str:
    """Return a Markdown table; bars in cells are escaped, line breaks become spaces."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(escape_cell(cell) for cell in line) + " |" for line in lines)


def escape_cell(text: str) -> str:
    """Return text that stays in its cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def text_table(headings: Cells, rows: Iterable[Cells]) -> str:
    """Return a table whose columns are aligned by spaces."""
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
