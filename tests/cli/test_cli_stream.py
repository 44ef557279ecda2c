"""Streams of files whose rows are sorted by their classes."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")
import gramian
from gramian.cli import fitting, formats
from gramian.cli.app import run
from gramian.estimators import MetricLearner, _stream

FAST = ("--constraints", "triplets")


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """The labels of the parts that a stream learns from; its sizes are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(formats, "BLOCK_BYTES", 512)
    for name, size in (("FIRST", 60), ("CHUNK", 30)):
        monkeypatch.setattr(fitting, name, size)
    monkeypatch.setattr(fitting, "MOST_HELD", 80, raising=False)
    monkeypatch.setattr(_stream, "MOST_KEPT", 20)
    seen, learn = [], MetricLearner.partial_fit

    def watch(self, X, y):
        seen.append(y.tolist())
        return learn(self, X, y)

    monkeypatch.setattr(MetricLearner, "partial_fit", watch)
    return seen


def write_sorted(counts):
    """Write rows whose labels come one after the other, each as often as its count."""
    labels = np.repeat(list(counts), list(counts.values()))
    values = np.random.default_rng(0).normal(size=(len(labels), 2))
    frame = pd.DataFrame(values, columns=["a", "b"]).assign(label=labels)
    frame["a"] += np.array([ord(label) for label in labels])
    frame.to_csv("data.csv", index=False)


def stream(capfd):
    """Run a stream and return what it notes."""
    assert run(["fit", "data.csv", "-t", "label", "-r", "1", "--stream", *FAST]) == 0
    assert gramian.load("model.skops")[-1].kept_ is None
    return " ".join(capfd.readouterr().err.split())


def test_rows_of_one_class_are_held_until_others_come(parts, capfd):
    write_sorted({"p": 70, "q": 70, "r": 5})
    noted = stream(capfd)
    assert sum(map(len, parts[1:])) == 145
    assert all(len(set(labels)) > 1 for labels in parts)
    assert "a random part" not in noted


def test_of_many_rows_of_one_class_a_random_part_is_learned_from(parts, capfd):
    write_sorted({"p": 400, "q": 100})
    noted = stream(capfd)
    assert noted.count("More than 80 rows in a row are of one class: a random part of these is learned from") == 1
    assert len(parts[1]) <= 80
    assert set(parts[1]) == {"p", "q"}
    assert len(parts) == 2
    left = int(noted.split("The last ")[1].split(" rows are of one class, and not learned from")[0])
    assert 50 < left < 100


def test_rows_that_are_too_few_for_the_components_are_told(parts, capfd):
    pd.DataFrame({**{f"x{i}": [1.0, 2, 4, 3] for i in range(8)}, "label": list("ppqq")}).to_csv("data.csv", index=False)
    assert run(["fit", "data.csv", "-t", "label", "-r", "8", "--stream", *FAST]) == 1
    assert "data.csv has too few rows for --components 8" in capfd.readouterr().err
