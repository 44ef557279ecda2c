"""`gramian report` and `gramian info`: what a model has learned."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import numpy as np

from gramian.cli.mapping import check_width
from gramian.cli.mistakes import Mistake, check_folder
from gramian.cli.models import learner_of, load_model, reading_of, report_unseen
from gramian.cli.reading import Reading, Table
from gramian.cli.screen import counting, print_table, say
from gramian.cli.tables import load_table
from gramian.execution import one_blas_thread
from gramian.files import read_header
from gramian.report import write_report

__all__ = ["report_file", "show_model"]


def report_file(
    model_path: Path,
    path: Path,
    out: Path,
    test: Path | None,
    image_shape: str | None,
    title: str | None,
    reading: Reading,
) -> Path:
    """Write a report on a model and the rows of a file, and return its path."""
    check_folder(out, model_path, path, test)
    shape = parse_shape(image_shape)
    model = load_model(model_path)
    table = read_for(model, path, reading)
    held_out = None if test is None else read_for(model, test, reading)
    with counting("writing the report", 1) as bar, one_blas_thread():
        write_report(
            model,
            table.X,
            table.y,
            out,
            X_test=None if held_out is None else held_out.X,
            y_test=None if held_out is None else held_out.y,
            title=title or f"{path.name} in a learned distance",
            model_path=str(model_path),
            image_shape=shape,
        )
        bar.advance(1)
    say(f"Open in a browser: {out.resolve()}")
    return out


def read_for(model: Any, path: Path, reading: Reading) -> Table:
    """Return the rows of a file with the columns of a model."""
    table = load_table(path, reading_of(model, path, reading))
    if hasattr(table.X, "iloc"):
        report_unseen(model, table.X, set())
        return table
    return table._replace(X=check_width(model, path, table.X))


def parse_shape(text: str | None) -> tuple[int, int] | None:
    """Return height and width of a text such as 8x8."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    if found is None:
        raise Mistake(f"--image-shape {text} is not of the form HEIGHTxWIDTH, for example 8x8.")
    return int(found[1]), int(found[2])


def show_model(path: Path) -> None:
    """Show what a file of a model holds."""
    if not path.exists():
        raise Mistake(f"There is no model {path}. Make one with gramian fit, or check the name.")
    header = read_header(path)
    rows = [["class", header.class_name.rsplit(".", 1)[-1]]]
    if header.steps:
        rows.append(["steps", ", ".join(step.rsplit(".", 1)[-1] for step in header.steps)])
    rows += [["features", format_number(header.n_features)], ["components", format_number(header.rank)]]
    model = load_model(path)
    # Other estimators have files too: the header tells of them.
    with contextlib.suppress(Mistake):
        rows += describe_learner(model)
    rows.append(["written by", ", ".join(f"{name} {version}" for name, version in header.versions.items())])
    rows.append(["size", f"{path.stat().st_size / 1024:.0f} kB"])
    print_table(["", str(path)], [[name, str(value)] for name, value in rows], justify="left")


def describe_learner(model: Any) -> list[list[str]]:
    """Return the properties of a learned distance, a name and a text each."""
    learner = learner_of(model)
    rows, names = [], getattr(model.steps[0][1] if hasattr(model, "steps") else model, "feature_names_in_", None)
    if names is not None:
        rows.append(["columns", ", ".join(map(str, names[:12])) + (", ..." if len(names) > 12 else "")])
    choice = getattr(learner, "choice_", None)
    if choice is not None:
        rows.append(["learned by", choice.plan])
        errors = sorted(choice.errors.items(), key=lambda entry: entry[1])
        if errors:
            rows.append(["errors on held-out rows", ", ".join(f"{name} {error:.1%}" for name, error in errors)])
    curve = getattr(learner, "curve_", None)
    if curve is not None:
        scores = ", ".join(f"{rank}: {mean:.1%}" for rank, mean in zip(curve.ranks, curve.mean, strict=True))
        rows.append(["score by components", scores])
    rows.append(["spectrum", ", ".join(f"{value:.3g}" for value in np.asarray(learner.spectrum_)[:8])])
    if hasattr(learner, "threshold_"):
        rows.append(["threshold", f"{learner.threshold_:.4g}"])
    rows.append(["iterations", str(learner.n_iter_)])
    rows.append(["ended", learner.message_])
    return rows


def format_number(value: Any) -> str:
    """Return a number as text, and a dash if it is not known."""
    return "-" if value is None else str(value)
