"""`gramian evaluate model.skops rows.csv`: a saved model beside plain distance, on rows it need not have seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline

from gramian.cli.comparing import HEADINGS, RETRIEVED, Score, to_dense, vote
from gramian.cli.inspecting import read_for
from gramian.cli.mapping import search
from gramian.cli.mistakes import Mistake
from gramian.cli.models import learner_of, load_model
from gramian.cli.reading import Reading, Table
from gramian.cli.screen import note, print_table
from gramian.cli.tables import check_labels, knows_labels
from gramian.execution import one_blas_thread
from gramian.types import Matrix, Vector

__all__ = ["judge_model"]


class Labelled(NamedTuple):
    """Rows in some distance (n, r), and their labels (n,)."""

    Z: Matrix
    y: Vector


def judge_model(
    model_path: Path, path: Path, train: Path | None, neighbours: int, reading: Reading
) -> dict[str, Score]:
    """Show the scores of a model and of plain distance on the rows of a file, and return them.

    The neighbours that vote are rows of the file `train`; without it the other rows of the same file.
    """
    model = load_model(model_path)
    learner_of(model)
    table = labelled_rows(model, path, reading)
    known = None if train is None else labelled_rows(model, train, replace(reading, max_rows=0))
    if known is None and table.y is not None:
        check_labels(path, table.y)
        note(
            f"Each row is judged by the others of {path}, which is optimistic for rows the model has learned from. "
            "--train names a file whose rows vote."
        )
    report_rows(table, reading)
    scores = {}
    with one_blas_thread():
        for name, mapping in mappings(model).items():
            asked = map_rows(mapping, table)
            scores[name] = score_rows(asked, None if known is None else map_rows(mapping, known), neighbours)
    show_judgement(scores, len(table.rows), neighbours)
    return scores


def labelled_rows(model: Any, path: Path, reading: Reading) -> Table:
    """Return the rows of a file with the columns of a model, and labels; raise a Mistake if it has none."""
    if reading.target is None and not knows_labels(path):
        raise Mistake("Which column has the labels? Name it by --target.")
    table = read_for(model, path, reading)
    if table.y is None:
        raise Mistake(f"{path} has no labels. Give an array y, or name it by --target.")
    return table


def report_rows(table: Table, reading: Reading) -> None:
    """Tell how many rows are used, if not all."""
    if 0 < reading.max_rows < table.n_rows:
        note(f"{table.n_rows:,} rows, of which {len(table.rows):,} random ones are used; --max-rows 0 takes all.")


def mappings(model: Any) -> dict[str, Any]:
    """Return what maps rows to a plain distance and to the learned one, by name; None leaves them as they are."""
    r, d = learner_of(model).components_.shape
    steps = model.steps[:-1] if isinstance(model, Pipeline) else []
    plain = Pipeline(steps) if steps else None
    return {f"Euclid, all {d} features": plain, f"the model, {r} component{'' if r == 1 else 's'}": model}


def map_rows(mapping: Any, table: Table) -> Labelled:
    """Return the rows of a table, mapped, and their labels."""
    assert table.y is not None
    Z = table.X if mapping is None else mapping.transform(table.X)
    return Labelled(np.asarray(to_dense(Z)), table.y)


def score_rows(asked: Labelled, known: Labelled | None, neighbours: int) -> Score:
    """Return the score of rows by known ones, or by the others among themselves."""
    own = known is None
    voters = asked if known is None else known
    count = min(max(neighbours, RETRIEVED), len(voters.y) - own)
    if count < 1:
        raise Mistake("One row alone has no neighbours. Give more rows, or rows that vote by --train.")
    index = NearestNeighbors(n_neighbors=count + own).fit(voters.Z)
    near = search(index, asked.Z, np.arange(len(asked.y)), own, count).rows
    labels, truth = voters.y, asked.y
    if labels.dtype.kind != truth.dtype.kind:
        labels, truth = as_texts(labels), as_texts(truth)
    votes = np.array([vote(row) for row in labels[near[:, :neighbours]]])
    return Score(float(np.mean(votes != truth)), float(np.mean(labels[near[:, :RETRIEVED]] == truth[:, None])))


def as_texts(y: Any) -> Any:
    """Return labels (n,) as texts: those of one file may be whole numbers, of another floats, truth values or texts."""
    if y.dtype.kind == "b" or (y.dtype.kind == "f" and np.array_equal(y, np.round(y))):
        y = y.astype(np.int64)
    return y.astype(str)


def show_judgement(scores: dict[str, Score], n_rows: int, neighbours: int) -> None:
    """Show a table with a line for each distance, the best in bold."""
    lowest = min(score.error for score in scores.values())
    best = {index for index, score in enumerate(scores.values()) if score.error == lowest}
    rows = [[name, f"{score.error:.1%}", f"{score.precision:.1%}"] for name, score in scores.items()]
    print_table(["", *(text.format(neighbours) for text in HEADINGS)], rows, f"{n_rows:,} rows", best)
