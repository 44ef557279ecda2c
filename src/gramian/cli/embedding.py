"""`gramian embed`: a map from a file of distances."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from gramian.cli.formats import kind_of
from gramian.cli.mapping import OUTPUTS, Mapped, name_columns, open_writer, replaced_at_the_end
from gramian.cli.mistakes import Mistake, check_folder, words_of
from gramian.cli.screen import say
from gramian.estimators import SStressMDS
from gramian.execution import one_blas_thread
from gramian.types import Matrix

__all__ = ["embed_file", "read_numbers"]

NUMBERED = "{} should name samples by their numbers, 0, 1, 2, ..., in its first two columns; the third is the distance."


def embed_file(path: Path, out: Path, components: str, pairs: bool, seed: int) -> SStressMDS:
    """Write a map in which samples have the distances of a file as nearly as possible, and return the model."""
    if components != "auto" and not (components.isdigit() and int(components) > 0):
        raise Mistake(f"--components {components} is not a number of components. Give a number of at least 1, or auto.")
    if out.suffix not in OUTPUTS:
        raise Mistake(f"--out {out} is of an unknown kind. Its name should end with one of {', '.join(OUTPUTS)}.")
    check_folder(out, path)
    numbers = read_numbers(path, pairs=pairs)
    model = SStressMDS(components if components == "auto" else int(components), random_state=seed, verbose=1)
    with one_blas_thread():
        if pairs:
            fit_pairs(model, path, numbers)
        else:
            if numbers.ndim != 2 or numbers.shape[0] != numbers.shape[1]:
                raise Mistake(
                    f"{path} has {numbers.shape[0]} rows and {numbers.shape[1]} columns; a matrix of distances "
                    "has as many rows as columns. For lines 'first,second,distance' give --pairs."
                )
            model.fit(numbers)
    with replaced_at_the_end(out) as part, open_writer(part, out.suffix, {}) as writer:
        writer.write(name_columns(Mapped(model.embedding_, None)))
    n, r = model.embedding_.shape
    say(f"{n:,} samples in {r} dimensions, stress {model.stress_:.3g} (0 is perfect): {out}")
    return model


def fit_pairs(model: SStressMDS, path: Path, numbers: Matrix) -> None:
    """Fit a model to lines of two samples and their distance."""
    if numbers.shape[1] != 3:
        raise Mistake(f"{path} has {numbers.shape[1]} columns; expected three with --pairs: first, second, distance.")
    if not len(numbers):
        raise Mistake(
            f"{path} has a heading, but no line of two samples and their distance. Samples are numbers: 0,1,2.5"
        )
    indices = numbers[:, :2]
    if not np.array_equal(indices, np.round(indices)) or (indices < 0).any():
        raise Mistake(NUMBERED.format(path))
    model.fit_pairs(indices.astype(np.int64), numbers[:, 2])


def has_names(frame: Any, *, pairs: bool = False) -> bool:
    """Return True if the first row and the first column of a table of texts are names, as pandas writes them.

    Names may be numbers: different whole numbers, beside a matrix with zeros on its diagonal, and with a cell in the
    corner that is empty or no number. Or they count 0, 1, 2, ..., which is all that is looked for in a table of pairs.
    """
    import pandas as pd

    if min(frame.shape) < 2 or not pd.isna(pd.to_numeric(frame.iloc[:1, 0], errors="coerce").iloc[0]):
        return False
    names = [pd.to_numeric(part, errors="coerce").to_numpy() for part in (frame.iloc[0, 1:], frame.iloc[1:, 0])]
    if all(np.array_equal(each, np.arange(len(each))) for each in names):
        return True
    numbers = [each[~np.isnan(each)] for each in names]
    are_names = all((each == np.round(each)).all() and len(set(each)) == len(each) for each in numbers)
    return not pairs and are_names and is_matrix(frame.iloc[1:, 1:])


def is_matrix(frame: Any) -> bool:
    """Return True for a square table of texts with zeros on its diagonal, up to rounding."""
    import pandas as pd

    n = len(frame)
    if not n or frame.shape != (n, n):
        return False
    numbers = frame.apply(pd.to_numeric, errors="coerce").to_numpy()
    return bool((np.abs(np.diag(numbers)) <= 1e-12 * np.nanmax(np.abs(numbers), initial=0)).all())


def read_numbers(path: Path, *, pairs: bool = False) -> Any:
    """Return a file of numbers as an array; a heading and a first column of names are left out, empty cells are NaN."""
    kind = kind_of(path)
    if kind == "npz":
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in ("D", "X") if name in stored.files}
        except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
            why = words_of(error)
            raise Mistake(f"{path} is not a file of plain arrays, or was cut while it was written: {why}.") from error
        numbers = next(iter(arrays.values()), None)
        if numbers is None:
            raise Mistake(f"{path} has no array D or X. Save the distances by np.savez(path, D=D).")
        if numbers.ndim != 2 or numbers.dtype.kind not in "biuf":
            raise Mistake(f"{path} has an array of shape {numbers.shape} and type {numbers.dtype}; expected a matrix.")
        return numbers.astype(np.float64)
    import pandas as pd

    if not path.stat().st_size:
        raise Mistake(f"{path} is empty. Give a matrix of distances, or lines 'first,second,distance' with --pairs.")
    try:
        if kind == "parquet":
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_csv(path, header=None, sep=None, engine="python", dtype=str)
            if has_names(frame, pairs=pairs):
                frame = frame.iloc[1:, 1:]
            elif is_matrix(frame.iloc[1:]) and not pairs:
                # A heading of numbers, without a column of names.
                frame = frame.iloc[1:]
            elif pd.to_numeric(frame.iloc[0, 1:].dropna(), errors="coerce").isna().any():
                frame = frame.iloc[1:]
        if pd.to_numeric(frame.iloc[:, 0].dropna(), errors="coerce").isna().any():
            if pairs and frame.shape[1] == 3:
                raise Mistake(NUMBERED.format(path))
            frame = frame.iloc[:, 1:]
        return frame.to_numpy(dtype=np.float64)
    except (ValueError, UnicodeDecodeError, IndexError) as error:
        raise Mistake(f"{path} should hold numbers only, besides a heading and a column of names: {error}.") from error
