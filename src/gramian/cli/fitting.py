"""`gramian fit`: a distance from a file."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline

import gramian
from gramian.cli.formats import kind_of, read_blocks
from gramian.cli.identifiers import point_out_identifiers
from gramian.cli.mistakes import Mistake, check_folder, explain
from gramian.cli.models import fit_preparation, report_unseen, with_kinds, without_settings
from gramian.cli.reading import Reading, Table
from gramian.cli.screen import counting, note, say
from gramian.cli.tables import (
    Sampler,
    check_labels,
    knows_labels,
    load_table,
    mend_columns,
    parse_labels,
    plain_labels,
)
from gramian.estimators import MetricLearner, MetricLearnerCV
from gramian.execution import one_blas_thread
from gramian.files.storage import check_ending
from gramian.types import Matrix, Vector

__all__ = ["Request", "fit_file"]

#: The number of components is chosen on at most this number of random rows.
CHOOSING = 5000
#: The folds of that choice; fewer if no class has as many rows.
FOLDS = 5
#: The number of random rows of the whole file that a stream starts from, and of the rows of its chunks.
FIRST, CHUNK = 20_000, 20_000
#: The largest number of rows of one class in a row that a stream holds until others come; of more, random ones.
MOST_HELD = 40_000


@dataclass(frozen=True)
class Request:
    """The options of a fit."""

    path: Path
    out: Path
    reading: Reading
    components: str = "auto"
    pairs: Path | None = None
    triplets: Path | None = None
    stream: bool = False
    dask: str | None = None
    checkpoint: Path | None = None
    jobs: int = 1
    constraints: str = "auto"


def fit_file(request: Request) -> Any:
    """Fit a model to a file, save it, and return it."""
    check_request(request)
    with open_execution(request) as execution, one_blas_thread():
        if request.stream:
            model = fit_stream(request, execution)
        else:
            tuples = request.pairs or request.triplets
            # Tuples name rows of the file: all of them are read.
            reading = replace(request.reading, max_rows=0, keep_unlabelled=True) if tuples else request.reading
            table = load_table(request.path, reading)
            report_sample(reading, table)
            model = fit_table(request, table, execution)
    save_model(model, request.out)
    report_result(request, model)
    return model


def check_request(request: Request) -> None:
    """Raise a Mistake if options do not fit together, or the model cannot be written."""
    kind = kind_of(request.path)
    tuples = request.pairs or request.triplets
    if request.pairs and request.triplets:
        raise Mistake("--pairs and --triplets are both given. Choose one.")
    if request.reading.target is None and not tuples and not knows_labels(request.path):
        raise Mistake("Which column has the labels? Name it by --target, or give --pairs or --triplets.")
    if request.stream and (tuples or kind in ("npz", "svmlight")):
        raise Mistake("--stream reads labelled rows of CSV and Parquet files. Leave it out.")
    if request.stream and request.components == "auto":
        raise Mistake("--stream needs a number of components. Give it, for example: --components 8")
    if request.stream and request.checkpoint:
        raise Mistake("--checkpoint stores a fit of the whole file, not a stream. Leave out one of them.")
    if request.checkpoint and request.components == "auto":
        raise Mistake("--checkpoint needs a number of components. Give it, for example: --components 8")
    for path in (request.pairs, request.triplets):
        if path is not None and not path.exists():
            raise Mistake(f"There is no file {path}.")
    if request.components != "auto" and not (request.components.isdigit() and int(request.components) > 0):
        raise Mistake(
            f"--components {request.components} is not a number of components. Give a number of at least 1, or auto."
        )
    if request.jobs == 0:
        raise Mistake("--jobs 0 leaves no thread to work. Give 1 or more, or -1 for one a core.")
    check_folder(request.out, request.path, request.pairs, request.triplets)
    check_ending(request.out)
    if request.checkpoint is not None:
        check_folder(request.checkpoint, request.path, option="--checkpoint")


def open_execution(request: Request) -> Any:
    """Return a context with what does the work: threads, or the workers of a Dask cluster."""
    if request.dask is None:
        return nullcontext(request.jobs)
    try:
        from distributed import Client

        from gramian.execution import Dask  # type: ignore[attr-defined, unused-ignore]
    except ImportError as error:
        raise Mistake("--dask needs Dask. Install it: pip install 'gramian[dask]'") from error
    try:
        client = Client(request.dask, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        text = f"No Dask scheduler answers at {request.dask}. Check the address, as in tcp://host:8786."
        raise Mistake(text) from error
    return nullcontext(Dask(client))


def report_sample(reading: Reading, table: Table) -> None:
    """Tell how many rows are learned from, if not all."""
    if 0 < reading.max_rows < table.n_rows:
        note(
            f"{table.n_rows:,} rows, of which {len(table.rows):,} random ones are learned from. --max-rows 0 takes "
            "all; --stream learns from all in chunks."
        )


def fit_table(request: Request, table: Table, execution: Any) -> Pipeline:
    """Return a pipeline fitted to a table: the steps that prepare the samples, and the learner."""
    if table.y is not None and not (request.pairs or request.triplets):
        check_labels(request.path, table.y)
    elif request.reading.target:
        note("The labels are left out of the samples, and not learned from: pairs or triplets are.")
    point_out_identifiers(table.X)
    with counting("preparing the columns", 1) as bar:
        preparation = fit_preparation(table.X, request.reading, table.zero_based)
        X = preparation.transform(table.X)
        bar.advance(1)
    X = X if issparse(X) else np.ascontiguousarray(X, dtype=np.result_type(X.dtype, np.float32))
    if request.components != "auto" and int(request.components) > X.shape[1]:
        raise Mistake(
            f"--components {request.components} exceeds the {X.shape[1]} features. Choose at most {X.shape[1]}."
        )
    learner = make_learner(request, execution)
    if request.pairs is not None:
        tuples = read_tuples(request.pairs, 2, table.n_rows)
        learner.fit_pairs(X, tuples[:, :2], read_signs(request.pairs, tuples[:, 2]))
    elif request.triplets is not None:
        learner.fit_triplets(X, read_tuples(request.triplets, 3, table.n_rows))
    else:
        learner = fit_labels(request, learner, X, table.y)
    return Pipeline([*preparation.steps, ("distance", without_settings(learner))])


def fit_labels(request: Request, learner: Any, X: Any, y: Any) -> Any:
    """Return a learner fitted to labels; of many rows, the number of components is chosen on a part."""
    if not isinstance(learner, MetricLearnerCV):
        return learner.fit(X, y)
    part = choose_rows(y, request.reading.seed)
    learner.set_params(cv=min(FOLDS, largest_class(y[part])))
    if len(part) == len(y):
        return learner.fit(X, y)
    note(f"The number of components is chosen on {CHOOSING:,} random rows.")
    learner.fit(X[part], y[part])
    chosen, single = learner.best_params_["n_components"], learner.best_estimator_
    return single.set_params(n_components=chosen, verbose=1).fit(X, y)


def choose_rows(y: Vector, seed: int) -> Vector:
    """Return the rows that the number of components is chosen on, all or CHOOSING random ones.

    Where few of these are of one class, they are the rows of random classes instead.
    """
    n, rng = len(y), np.random.default_rng(seed)
    if n <= CHOOSING:
        return np.arange(n)
    part = rng.permutation(n)[:CHOOSING]
    if largest_class(y[part]) >= FOLDS:
        return part
    classes = np.unique(y, return_inverse=True)[1]
    return np.argsort(rng.permutation(classes.max() + 1)[classes], kind="stable")[:CHOOSING]


def largest_class(y: Vector) -> int:
    """Return the number of rows of the largest class."""
    return int(np.unique(y, return_counts=True)[1].max())


def make_learner(request: Request, execution: Any) -> Any:
    """Return a learner, not fitted, with the settings of the request."""
    settings: dict[str, Any] = {"n_jobs": execution, "random_state": request.reading.seed, "verbose": 1}
    settings["constraints"] = request.constraints
    if request.checkpoint is not None:
        settings["checkpoint"] = request.checkpoint
    if request.components != "auto":
        return MetricLearner(int(request.components), **settings)
    single = MetricLearner(**settings | {"verbose": 0})
    return MetricLearnerCV(estimator=single, random_state=request.reading.seed, verbose=1)


def read_tuples(path: Path, n_indices: int, n_rows: int) -> Matrix:
    """Return the whole numbers of a CSV file of three columns, shape (m, 3).

    The first ones are row numbers of the data, 0 for its first row. A first line with letters is a heading.
    """
    import pandas as pd

    try:
        given = pd.read_csv(path, header=None, comment="#", dtype=str, keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise Mistake(f"{path} should hold whole numbers in three columns: {error}.") from error
    if given.shape[1] != 3:
        raise Mistake(f"{path} has {given.shape[1]} columns; expected lines of three whole numbers.")
    given = given.fillna("")
    given = given.iloc[1:] if given.iloc[0].str.contains("[A-Za-z]").any() else given
    if given.empty:
        raise Mistake(f"{path} has no lines of three whole numbers below its first line.")
    tuples = given.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    whole = ((np.abs(tuples) < 2**53) & (tuples == np.round(tuples))).all(axis=1)
    if not whole.all():
        line = ",".join(given.iloc[int(np.argmin(whole))])
        raise Mistake(f"{path} has the line {line!r}; expected three whole numbers. Mend it, or leave it out.")
    indices = tuples[:, :n_indices]
    wrong = np.flatnonzero((indices < 0).any(axis=1) | (indices >= n_rows).any(axis=1))
    if len(wrong):
        line = " ".join(f"{value:.0f}" for value in indices[wrong[0]])
        raise Mistake(f"{path} names the rows {line}, but the rows of the data are 0 to {n_rows - 1}.")
    return tuples.astype(np.int64)


def read_signs(path: Path, signs: Vector) -> Vector:
    """Return +1 and -1; raise a Mistake if others occur."""
    if not np.isin(signs, (-1, 1)).all():
        raise Mistake(f"The third column of {path} should be 1 for near and -1 for far.")
    return signs


def fit_stream(request: Request, execution: Any) -> Pipeline:
    """Return a pipeline that has learned from all rows of a file in chunks; memory does not grow with the file.

    A random sample of the file decides how columns are prepared and how is learned. Then the file is read again.
    """
    reading = replace(request.reading, max_rows=FIRST)
    table = load_table(request.path, reading)
    assert table.y is not None
    check_labels(request.path, table.y)
    note(f"{table.n_rows:,} rows. The first fit is to {len(table.rows):,} random ones, then all follow in chunks.")
    point_out_identifiers(table.X)
    preparation = fit_preparation(table.X, reading)
    learner = make_learner(request, execution)
    learner.partial_fit(preparation.transform(table.X), table.y)
    learner.set_params(verbose=0)
    columns = [str(name) for name in table.X.columns]
    reading, told = replace(with_kinds(reading, preparation.steps[0][1]), columns=columns), set[str]()
    for chunk in read_chunks(request.path, reading):
        frame, labels = chunk.frame[columns].copy(), parse_labels(chunk.frame[reading.target])
        frame = mend_columns(request.path, frame, chunk.rows, reading, chunk.decimal_point)
        report_unseen(preparation, frame, told)
        learner.partial_fit(preparation.transform(frame), plain_labels(labels))
    if not hasattr(learner, "components_"):
        raise Mistake(f"{request.path} has too few rows for --components {request.components}. Choose fewer.")
    learner.kept_ = None
    return Pipeline([*preparation.steps, ("distance", without_settings(learner))])


class Chunk(NamedTuple):
    """Rows of a file that have labels, their numbers, and the character before their decimals."""

    frame: Any
    rows: Vector
    decimal_point: str

    def part(self, rows: slice) -> Chunk:
        """Return some of the rows."""
        return self._replace(frame=self.frame.iloc[rows], rows=self.rows[rows])


def join_chunks(chunks: list[Chunk]) -> Chunk:
    """Return the rows of all chunks."""
    import pandas as pd

    frame = pd.concat([chunk.frame for chunk in chunks], ignore_index=True)
    return chunks[0]._replace(frame=frame, rows=np.concatenate([chunk.rows for chunk in chunks]))


def read_pieces(path: Path, reading: Reading) -> Iterator[Chunk]:
    """Yield the rows of a file that have labels, CHUNK at a time; the last ones may be fewer."""
    assert reading.columns is not None
    target = reading.target or ""
    texts, columns = [*reading.texts, target], [*reading.columns, target]
    waiting, count = list[Chunk](), 0
    for block in read_blocks(path, columns=columns, texts=texts, encoding=reading.encoding):
        known = block.frame[target].notna().to_numpy()
        waiting.append(Chunk(block.frame[known], block.rows[known], block.decimal_point))
        count += int(np.count_nonzero(known))
        if count < CHUNK:
            continue
        joined, whole = join_chunks(waiting), count // CHUNK * CHUNK
        for start in range(0, whole, CHUNK):
            yield joined.part(slice(start, start + CHUNK))
        waiting, count = [joined.part(slice(whole, None))], count - whole
    if count:
        yield join_chunks(waiting)


def read_chunks(path: Path, reading: Reading) -> Iterator[Chunk]:
    """Yield the rows of a file that have labels, in chunks of two or more classes.

    Where one class goes on for long, a random part of its rows is kept. Rows at the end that have no two classes are
    left out. Both are told.
    """
    held, told = Sampler(MOST_HELD, reading.seed), False
    for piece in read_pieces(path, reading):
        frame, rows = held.result()
        chunk = piece if frame is None else join_chunks([piece._replace(frame=frame, rows=rows), piece])
        if has_classes(chunk.frame[reading.target]):
            yield chunk
            held = Sampler(MOST_HELD, reading.seed)
            continue
        held.add(piece.frame, piece.rows)
        if held.n_rows > MOST_HELD and not told:
            told = True
            note(
                f"More than {MOST_HELD:,} rows in a row are of one class: a random part of these is learned from. "
                f"Shuffle the rows of {path} to learn from all."
            )
    if held.n_rows:
        note(
            f"The last {held.n_rows:,} rows are of one class, or each of another, and not learned from. Shuffle the "
            f"rows of {path}."
        )


def has_classes(labels: Any) -> bool:
    """Return True if a distance can be learned from labels: those of two classes, one of them of two rows."""
    counts = labels.value_counts()
    return len(counts) > 1 and bool(counts.iloc[0] > 1)


def save_model(model: Pipeline, out: Path) -> None:
    """Save a model; where that fails, as on a full disk, save it to a temporary folder, and raise a Mistake.

    It says where the model is. The checkpoint of the fit is gone at this moment.
    """
    try:
        gramian.save(model, out)
    except OSError as error:
        folder = None
        try:
            folder = Path(tempfile.mkdtemp(prefix="gramian-"))
            gramian.save(model, folder / out.name)
        except OSError:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise error from None
        raise Mistake(f"{explain(error)} The model is not lost: it was saved to {folder / out.name}") from error


def report_result(request: Request, model: Pipeline) -> None:
    """Write what was learned, where it is, and what to do with it."""
    learner = model.steps[-1][1]
    r, d = learner.components_.shape
    say(f"{r} number{'' if r == 1 else 's'} a sample, learned from {d} features. The fit ended: {learner.message_}.")
    choice = getattr(learner, "choice_", None)
    if choice is not None and choice.errors:
        euclid = choice.errors.get("euclid")
        plain = "" if euclid is None else f"; plain distance: {euclid:.1%}"
        say(f"Error of nearest neighbours on rows held out for the choice: {choice.errors[choice.plan]:.1%}{plain}.")
    target = f" --target {shlex.quote(request.reading.target)}" if request.reading.target else ""
    say(f"Saved: {request.out}")
    say(f"Next: gramian report {shlex.quote(str(request.out))} {shlex.quote(str(request.path))}{target}")
