"""A saved model is judged on other rows, beside plain distance."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian
from gramian import MetricLearner

from cli_files import write_files

pytest.importorskip("typer")
from gramian.cli.app import run
from gramian.cli.judging import as_texts, judge_model
from gramian.cli.reading import Reading

FAST = ("--constraints", "triplets")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("judging")
    write_files(place)
    frame = pd.read_csv(place / "data.csv")
    frame.iloc[:60].to_csv(place / "train.csv", index=False)
    frame.iloc[60:].to_csv(place / "test.csv", index=False)
    frame.iloc[60:].replace({"label": {"house": "1", "hut": "2", "flat": "3"}}).to_csv(
        place / "digits.csv", index=False
    )
    model = ["-r", "2", *FAST, "-o"]
    assert run(["fit", str(place / "train.csv"), "-t", "label", *model, str(place / "m.skops")]) == 0
    assert run(["fit", str(place / "data.npz"), *model, str(place / "arrays.skops")]) == 0
    pairs = ["--pairs", str(place / "pairs.csv"), "-r", "2"]
    assert run(["fit", str(place / "data.csv"), *pairs, "-o", str(place / "pairs.skops")]) == 0
    return place


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_rows_of_a_training_file_vote(here, capsys):
    assert run(["evaluate", "m.skops", "test.csv", "-t", "label", "--train", "train.csv"]) == 0
    out, err = capsys.readouterr()
    assert "optimistic" not in err
    errors = [float(text) / 100 for text in re.findall(r"(\d+\.\d)% +│ +\d", out)]
    model, parts = gramian.load("m.skops"), []
    for name in ("train.csv", "test.csv"):
        frame = pd.read_csv(name, parse_dates=["since"])
        parts.append((model.transform(frame.drop(columns="label")), frame["label"]))
    expected = 1 - KNeighborsClassifier(5).fit(*parts[0]).score(*parts[1])
    assert errors[1] == pytest.approx(expected, abs=0.04)
    assert "Euclid, all" in out
    assert "the model, 2 components" in out


def test_without_them_each_row_is_left_out_in_turn(here, capsys):
    scores = judge_model(here / "arrays.skops", here / "data.npz", None, 1, Reading())
    assert "optimistic for rows the model has learned from" in capsys.readouterr().err
    with np.load("data.npz") as stored:
        Z, y = gramian.load("arrays.skops").transform(stored["X"]), stored["y"]
    distances = np.linalg.norm(Z[:, None] - Z, axis=2) + 1e9 * np.eye(len(Z))
    assert scores["the model, 2 components"].error == np.mean(y[distances.argmin(axis=1)] != y)


def test_labels_of_another_type_are_other_labels(here):
    scores = judge_model(here / "m.skops", here / "digits.csv", here / "train.csv", 5, Reading("label"))
    assert [score.error for score in scores.values()] == [1.0, 1.0]


def test_labels_are_compared_by_their_values_if_their_types_differ():
    wanted = ["0", "1"]
    for y in (np.array([0, 1]), np.array([0.0, 1.0]), np.array([False, True]), np.array(["0", "1"])):
        assert as_texts(y).tolist() == wanted
    assert as_texts(np.array([0.5, 1.0])).tolist() == ["0.5", "1.0"]


def test_a_pipeline_of_scikit_learn_is_judged(here):
    frame = pd.read_csv("train.csv")
    columns = frame.select_dtypes("number").dropna(axis=1, how="all").columns.tolist()
    scale = make_pipeline(SimpleImputer(), StandardScaler())
    first = make_pipeline(ColumnTransformer([("scale", scale, columns)]), MetricLearner(1, random_state=0))
    gramian.save(first.fit(frame.drop(columns="label"), frame["label"]), "columns.skops")
    scores = judge_model(here / "columns.skops", here / "test.csv", here / "train.csv", 5, Reading("label"))
    assert all(0 <= score.error < 1 for score in scores.values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["m.skops"], "m.skops is a model. Give the rows too"),
        (["m.skops", "test.csv"], "Name it by --target"),
        (["no.skops", "test.csv", "-t", "label"], "There is no model no.skops"),
        (["m.skops", "test.csv", "-t", "label", "-r", "3"], "--components is for methods that are fitted anew"),
        (["data.csv", "-t", "label", "--train", "train.csv"], "--train belongs to a model"),
        (["m.skops", "data.npz"], "has learned from a table with columns"),
    ],
)
def test_mistakes(arguments, said, here, capsys):
    assert run(["evaluate", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_info_shows_the_threshold_of_a_model_of_pairs(here, capsys):
    assert run(["info", "pairs.skops"]) == 0
    threshold = gramian.load("pairs.skops")[-1].threshold_
    assert re.search(rf"threshold +│ {threshold:.4g}", capsys.readouterr().out)
    assert run(["info", "m.skops"]) == 0
    assert "threshold" not in capsys.readouterr().out
