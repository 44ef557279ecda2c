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
    assert len(parts[1]) == 80 + 30
    assert set(parts[1]) == {"p", "q"}
    assert len(parts) == 2
    left = int(noted.split("The last ")[1].split(" rows are of one class, or each of another")[0])
    assert 50 < left < 100


def test_rows_that_are_too_few_for_the_components_are_told(parts, capfd):
    pd.DataFrame({**{f"x{i}": [1.0, 2, 4, 3] for i in range(8)}, "label": list("ppqq")}).to_csv("data.csv", index=False)
    assert run(["fit", "data.csv", "-t", "label", "-r", "8", "--stream", *FAST]) == 1
    assert "data.csv has too few rows for --components 8" in capfd.readouterr().err


@pytest.mark.parametrize("start", [0, 75])
def test_large_blocks_of_several_classes_are_learned_from_whole(start, parts, capfd, monkeypatch):
    monkeypatch.setattr(formats, "BLOCK_BYTES", 1 << 20)
    write_sorted({"p": 400, "q": 400})
    frame = pd.read_csv("data.csv")
    order = np.concatenate([np.arange(start), np.random.default_rng(0).permutation(np.arange(start, len(frame)))])
    frame.iloc[order].to_csv("data.csv", index=False)
    noted = stream(capfd)
    assert "a random part" not in noted
    left = int(noted.split("The last ")[1].split(" rows")[0]) if "The last" in noted else 0
    assert sum(map(len, parts[1:])) + left == len(frame)
    assert max(map(len, parts)) <= 80 + 30


def test_whole_numbers_that_are_texts_are_the_same_in_every_block(parts, monkeypatch):
    monkeypatch.setattr(formats, "BLOCK_ROWS", 50)
    labels = pd.array(np.arange(200) % 2, "Int64")
    labels[0] = pd.NA
    pd.DataFrame({"a": np.random.default_rng(0).normal(size=200), "label": labels}).to_parquet("data.parquet")
    assert run(["fit", "data.parquet", "-t", "label", "-r", "1", "--stream", *FAST]) == 0
    assert {str(label) for part in parts for label in part} == {"0", "1"}


def test_labels_of_which_each_is_another_are_told(parts, capfd):
    write_sorted({"p": 75, "q": 75, "r": 1, "s": 1})
    frame = pd.read_csv("data.csv")
    order = np.concatenate([np.random.default_rng(0).permutation(150), [150, 151]])
    frame.iloc[order].to_csv("data.csv", index=False)
    assert "The last 2 rows are of one class, or each of another, and not learned from" in stream(capfd)
