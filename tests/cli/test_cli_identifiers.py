"""Columns that only name the rows: they are pointed out, and left out by --drop."""

import numpy as np
import pandas as pd
import pytest

import gramian

pytest.importorskip("typer")
from gramian.cli.app import run
from gramian.cli.identifiers import looks_like_identifier

FAST = ("--constraints", "triplets")
ROWS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, rng = tmp_path_factory.mktemp("identifiers"), np.random.default_rng(0)
    y = np.arange(ROWS) % 3
    frame = pd.DataFrame(rng.normal(size=(ROWS, 3)) + 2 * np.eye(3)[y], columns=["a", "b", "c"])
    frame["job"] = y
    frame.insert(0, "id", np.arange(1000, 1000 + ROWS))
    frame.to_csv(place / "people.csv", index=False)
    frame.drop(columns="id").to_csv(place / "bare.csv", index=False)
    frame.to_parquet(place / "people.parquet")
    np.savez(place / "people.npz", X=frame[["a", "b", "c"]], y=y)
    return place


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def fit(*arguments):
    return run(["fit", *arguments, "-t", "job", "-r", "2", *FAST])


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_a_column_that_names_the_rows_is_pointed_out(name, here, capsys):
    assert fit(name, "-o", "with.skops") == 0
    noted = capsys.readouterr().err
    assert "Column 'id' has a different value in every row" in noted
    assert "Leave it out by --drop id" in noted
    assert "Column 'a'" not in noted


@pytest.mark.parametrize("more", [[], ["--stream"]])
def test_a_dropped_column_is_not_learned_from_and_new_rows_may_have_it(more, here, capsys):
    assert fit("people.csv", "--drop", "id", "-o", "m.skops", *more) == 0
    assert "every row" not in capsys.readouterr().err
    assert list(gramian.load("m.skops")[0].feature_names_in_) == ["a", "b", "c"]
    for name in ("people.csv", "bare.csv"):
        assert run(["transform", "m.skops", name, "-o", f"{name}.map.csv"]) == 0
        assert run(["neighbours", "m.skops", name, "--row", "0"]) == 0
        assert run(["report", "m.skops", name, "-t", "job"]) == 0
    assert (here / "people.csv.map.csv").read_text() == (here / "bare.csv.map.csv").read_text()


def test_evaluate_points_it_out_once_and_drops_it(here, capsys):
    evaluate = ["evaluate", "people.csv", "-t", "job", "--folds", "2"]
    assert run(evaluate) == 0
    assert capsys.readouterr().err.count("Leave it out by --drop id") == 1
    assert run([*evaluate, "--drop", "id"]) == 0
    assert "--drop" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["people.csv", "--drop", "ID"], "people.csv has no column 'ID'. Its columns are: id, a"),
        (["people.csv", "--drop", "job"], "--drop job is the column of --target"),
        (["bare.csv", "--drop", "a", "--drop", "b", "--drop", "c"], "no column besides 'job'"),
        (["people.npz", "--drop", "id"], "--drop names columns, of which people.npz has none"),
    ],
)
def test_what_cannot_be_dropped(arguments, said, here, capsys):
    target = [] if arguments[0].endswith("npz") else ["-t", "job"]
    assert run(["fit", *arguments, *target, "-r", "2"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(40), True),
        (range(40, 0, -1), True),
        (np.random.default_rng(0).permutation(40) + 7.0, True),
        (np.random.default_rng(0).permutation(1000)[:400], True),
        ([f"p{i:03d}" for i in range(40)], True),
        ([f"p{i % 39:03d}" for i in range(40)], False),
        ([f"{1 + i // 28:02d}.{1 + i % 28}.2024" for i in range(40)], False),
        (np.random.default_rng(0).integers(0, 10**9, 40), False),
        (np.random.default_rng(0).normal(size=40), False),
        ([*range(39), None], False),
        (range(4), False),
        (pd.date_range("2020-01-01", periods=40), False),
        ([True, False] * 20, False),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_looks_like_an_identifier(values, expected):
    assert looks_like_identifier(pd.Series(values)) is expected


def test_cells_that_are_no_texts_are_no_identifiers():
    assert not looks_like_identifier(pd.Series([np.arange(2) for _ in range(ROWS)]))
    assert looks_like_identifier(pd.Series([f"person {i}" for i in range(ROWS)]))
