"""Columns of files mean the same at a fit and later, whatever their types and missing cells."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")
from gramian.cli.app import run
from gramian.cli.tables import Reading, load_table

FAST = ("--constraints", "triplets")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def labelled(n=60):
    """A table with a number and a label, which agree."""
    y = np.arange(n) % 2
    return pd.DataFrame({"a": np.random.default_rng(0).normal(size=n) + 2 * y, "label": np.array(["x", "y"])[y]})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_truth_values_may_be_missing(kind, here):
    cells = [True, False, None] * 20
    full, frame = labelled().assign(b=[True, False, True] * 20), labelled().assign(b=cells)
    getattr(frame, f"to_{kind}")(f"some.{kind}", index=False)
    getattr(full, f"to_{kind}")(f"full.{kind}", index=False)
    read = load_table(here / f"some.{kind}", Reading("label")).X["b"]
    np.testing.assert_array_equal(read, [1.0, 0.0, np.nan] * 20)
    for fitted in ("some", "full"):
        assert run(["fit", f"{fitted}.{kind}", "-t", "label", "-r", "1", *FAST]) == 0
        for other in ("some", "full"):
            assert run(["transform", "model.skops", f"{other}.{kind}", "-o", f"{fitted}-{other}.csv"]) == 0
            assert pd.read_csv(f"{fitted}-{other}.csv")["z1"].notna().all()
