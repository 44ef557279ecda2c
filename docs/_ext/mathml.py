"""Formulas as MathML, which browsers draw themselves: no script, no font, nothing loaded from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx

__all__ = ["setup"]


def as_mathml(formula: str, *, block: bool) -> str:
    """Return a formula in LaTeX as a MathML element; an error names the formula."""
    try:
        return latex2mathml.tex2mathml(formula, as_block=block)
    except Exception as error:
        raise ValueError(f"the formula {formula!r} cannot be written as MathML: {error}") from error


def visit_inline(writer: Any, node: Any) -> None:
    """Write a formula in a line of text."""
    from docutils.nodes import SkipNode

    writer.body.append(as_mathml(node.astext(), block=False))
    raise SkipNode


def visit_block(writer: Any, node: Any) -> None:
    """Write a formula on lines of its own."""
    from docutils.nodes import SkipNode

    writer.body.append(f'<div class="formula">{as_mathml(node.astext(), block=True)}</div>\n')
    raise SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer as "mathml"."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
