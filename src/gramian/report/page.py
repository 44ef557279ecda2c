"""The page of a report: one file with its style, its script and its data, which loads nothing from elsewhere."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from string import Template
from typing import Any

__all__ = ["build_page"]


def build_page(content: dict[str, Any]) -> str:
    """Return the HTML of a page that shows the content."""
    # One pass: marks in texts that are inserted are not replaced.
    return Template(read_part("page.html")).substitute(
        title=html.escape(content["title"]),
        style=read_part("style.css"),
        script=read_part("script.js"),
        content=as_script_data(content),
    )


def read_part(name: str) -> str:
    """Return a part of the page that is a file beside this module."""
    return files("gramian.report").joinpath(name).read_text(encoding="utf-8")


def as_script_data(content: dict[str, Any]) -> str:
    """Return JSON that may stand in a script element: no text in it can end the element or begin a comment."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
