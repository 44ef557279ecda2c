"""Columns of files mean the same at a fit and later, whatever their types and missing cells."""

import gzip
from datetime import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file

import gramian

pytest.importorskip("typer")
import pyarrow as pa
import pyarrow.parquet as pq

from gramian.cli import fitting, formats
from gramian.cli.app import expand_value, run
from gramian.cli.dialects import dialect_of
from gramian.cli.mistakes import Mistake
from gramian.cli.reading import Reading
from gramian.cli.tables import load_table, mend_columns

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


@pytest.mark.parametrize(("base", "ending"), [(0, "svm"), (1, "svm"), (0, "svm.GZ")])
def test_columns_of_svmlight_count_as_at_the_fit(base, ending, here, capfd):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 3 * np.eye(2, 4)[np.arange(60) % 2]
    files = {"all": X, "rest": X * [0, 1, 1, 1]}
    for name, samples in files.items():
        dump_svmlight_file(samples, np.arange(60) % 2, f"{name}.svm", zero_based=base == 0)
        if ending != "svm":
            Path(f"{name}.{ending}").write_bytes(gzip.compress(Path(f"{name}.svm").read_bytes()))
    assert run(["fit", f"all.{ending}", "-r", "1", *FAST]) == 0
    assert f"The columns of all.{ending} count from {base}" in capfd.readouterr().err
    model = gramian.load("model.skops")
    for name, samples in files.items():
        assert run(["transform", "model.skops", f"{name}.{ending}", "-o", "map.csv"]) == 0
        np.testing.assert_allclose(pd.read_csv("map.csv"), model.transform(csr_matrix(samples)), atol=1e-5)
    if base:
        dump_svmlight_file(X, np.zeros(60), "zero.svm", zero_based=True)
        assert run(["transform", "model.skops", "zero.svm", "-o", "map.csv"]) == 1
        assert "zero.svm has a column 0, but columns count from 1" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_times_of_day_are_the_same_categories_later(kind, here, capfd):
    texts = ["08:15", "12:30", "17:00"] * 20
    frame = labelled().assign(at=texts if kind == "csv" else [time.fromisoformat(text) for text in texts])
    getattr(frame, f"to_{kind}")(f"data.{kind}", index=False)
    assert run(["fit", f"data.{kind}", "-t", "label", "-r", "1", *FAST]) == 0
    assert run(["transform", "model.skops", f"data.{kind}", "--keep", "at", "-o", "map.csv"]) == 0
    assert "has not learned" not in capfd.readouterr().err
    found = pd.read_csv("map.csv", dtype=str)["at"]
    assert all(cell.startswith(str(own)) for cell, own in zip(found, frame["at"], strict=True))


def test_a_parquet_file_may_have_an_index_and_names_that_are_integers(here):
    frame = labelled().rename(columns={"a": 0, "label": 1})
    frame.index = pd.Index([f"r{i}" for i in range(60)], name="id")
    frame.to_parquet("named.parquet")
    frame.rename_axis(None).to_parquet("unnamed.parquet")
    for name, index in (("named", "id"), ("unnamed", "__index_level_0__")):
        assert run(["fit", f"{name}.parquet", "-t", "1", "-r", "1", *FAST]) == 0
        assert list(gramian.load("model.skops")[0].feature_names_in_) == ["0"]
        keep = ["--keep", index, "--keep", "1"]
        assert run(["transform", "model.skops", f"{name}.parquet", *keep, "-o", "map.csv"]) == 0
        assert pd.read_csv("map.csv").iloc[0, :2].tolist() == ["r0", "x"]
    assert run(["fit", "named.parquet", "-t", "1", "-r", "1", "--text", "id", *FAST]) == 0
    assert list(gramian.load("model.skops")[0].feature_names_in_) == ["0", "id"]
    labels = labelled().set_index("label")
    labels.to_parquet("labels.parquet")
    assert run(["fit", "labels.parquet", "-t", "label", "-r", "1", *FAST]) == 0


def test_texts_that_mean_missing_are_copied(here):
    cells = ["NA", "None", "null", "?", "", "08"] * 10
    labelled().assign(note=cells, count=cells).to_csv("data.csv", index=False)
    labelled().assign(count=np.arange(60) % 3).to_csv("train.csv", index=False)
    assert run(["fit", "train.csv", "-t", "label", "-r", "1", *FAST]) == 0
    for name in ("map.csv", "map.parquet", "map.npz"):
        keep = ["--keep", "note", "--keep", "count", "--keep", "note"]
        assert run(["transform", "model.skops", "data.csv", *keep, "-o", name]) == 0
    expected = [cell or None for cell in cells]
    for column in ("note", "count"):
        assert pd.read_csv("map.csv", dtype=str, keep_default_na=False)[column].tolist() == cells
        assert pq.read_table("map.parquet")[column].to_pylist() == expected
        with np.load("map.npz") as stored:
            assert stored[column].tolist() == cells


def test_columns_of_parquet_are_copied_to_the_last_digit(here, monkeypatch):
    monkeypatch.setattr(formats, "BLOCK_ROWS", 25)
    large = [2**60 + i for i in range(60)]
    arrays = {
        "count": pa.array([None, *large[1:]]),
        "small": pa.array([None, *range(59)]),
        "cost": pa.array([None, *[Decimal("0.10")] * 59]),
        "kind": pa.array([None, *["oak"] * 59]).dictionary_encode(),
        "flag": pa.array([None, *[True] * 59]),
        "at": pa.array([None, *[time(8, 15)] * 59]),
    }
    frame = labelled()
    pq.write_table(pa.table({"a": frame["a"], "label": frame["label"], **arrays}), "data.parquet")
    frame.to_csv("train.csv", index=False)
    assert run(["fit", "train.csv", "-t", "label", "-r", "1", *FAST]) == 0
    keep = [part for name in arrays for part in ("--keep", name)]
    for name in ("map.csv", "map.parquet", "map.npz"):
        assert run(["transform", "model.skops", "data.parquet", *keep, "-o", name]) == 0
    found = pq.read_table("map.parquet")
    for name, array in arrays.items():
        assert found[name].to_pylist() == array.to_pylist()
    texts = pd.read_csv("map.csv", dtype=str)
    assert texts["count"][1:].tolist() == [str(each) for each in large[1:]]
    with np.load("map.npz") as stored:
        assert stored["count"].tolist() == ["", *(str(each) for each in large[1:])]
        np.testing.assert_array_equal(stored["small"], [np.nan, *range(59)])
        assert stored["kind"].tolist() == ["", *["oak"] * 59]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_may_come_in_another_order(kind, here):
    frame = labelled().assign(b=np.arange(60) % 7, c=["u", "v", "w"] * 20)
    getattr(frame, f"to_{kind}")(f"data.{kind}", index=False)
    getattr(frame[["c", "label", "b", "a"]], f"to_{kind}")(f"other.{kind}", index=False)
    assert run(["fit", f"data.{kind}", "-t", "label", "-r", "1", *FAST]) == 0
    for name in ("data", "other"):
        assert run(["transform", "model.skops", f"{name}.{kind}", "-o", f"{name}-map.csv"]) == 0
        assert run(["report", "model.skops", f"{name}.{kind}", "-t", "label"]) == 0
    assert Path("data-map.csv").read_text() == Path("other-map.csv").read_text()


@pytest.mark.parametrize("encoding", ["utf8", "utf-16"])
@pytest.mark.parametrize(
    "cells", [["1,5", "2,5"], ['"1,5"', '"2,5"'], ["1"] * 40 + ["2,5"] * 20], ids=["plain", "quoted", "late"]
)
def test_decimal_commas_are_found(cells, encoding, here):
    labels = [f"{cell};{'ab'[i % 2]}" for i, cell in enumerate(cells * (60 // len(cells)))]
    (here / "data.csv").write_text("\n".join(["value;label", *labels]), encoding=encoding)
    values = load_table(here / "data.csv", Reading("label", encoding=encoding)).X["value"]
    assert values.dtype.kind == "f"
    assert set(values) == {float(cell.strip('"').replace(",", ".")) for cell in cells}


def test_decimal_commas_in_a_column_that_began_without_numbers(here, monkeypatch):
    monkeypatch.setattr(formats, "BLOCK_BYTES", 256)
    frame = pd.DataFrame({"words": ["oak, elm", "1,5", "fir"]})
    pd.testing.assert_frame_equal(mend_columns(here, frame.copy(), np.arange(3), Reading(), ","), frame)
    rows = [f"{i / 4};{'' if i < 90 else i / 4};{'ab'[i % 2]}".replace(".", ",") for i in range(180)]
    (here / "data.csv").write_text("\n".join(["a;late;label", *rows]))
    read = load_table(here / "data.csv", Reading("label")).X["late"]
    np.testing.assert_array_equal(read[90:], np.arange(90, 180) / 4)
    (here / "wrong.csv").write_text("\n".join(["a;late;label", *rows]).replace("44,75;44,75", "44,75;1.044,75"))
    assert load_table(here / "data.csv", Reading("label", texts=["late"])).X["late"][90] == "22,5"
    with pytest.raises(Mistake, match=r"holds numbers, but '1\.044,75' in line 181"):
        load_table(here / "wrong.csv", Reading("label"))


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("Height, cm;Weight, kg;label\n180;80;a\n170;70;b", ";"),
        ("Height, cm;Weight, kg;label\n180,5;80;a\n170,5;70,1;b", ";"),
        ('"a;b;c","d"\n1,2\n3,4', ","),
        ("name|unit,size\n1,2\n3,4", ","),
        ('a\tb, c, d, e\n1\t"x, y"\n2\tz', "\t"),
        ("alone\n1\n2", ","),
        ("a,b,c\n1,2\n1,2,3", ","),
        ("a;b\r1;2\r", ";"),
    ],
)
def test_the_separator_is_the_one_that_makes_rows_alike(text, delimiter, here):
    (here / "data.csv").write_text(text)
    assert dialect_of(here / "data.csv", "utf8").delimiter == delimiter


def test_compressed_csv_with_an_ending_in_capitals(here):
    labelled().to_csv("data.csv", index=False)
    Path("data.csv.GZ").write_bytes(gzip.compress(Path("data.csv").read_bytes()))
    pd.testing.assert_frame_equal(*(load_table(here / f"data.csv{end}", Reading("label")).X for end in ("", ".GZ")))
    Path("cut.csv.gz").write_bytes(Path("data.csv.GZ").read_bytes()[:-300])
    with pytest.raises(Mistake, match=r"cut.csv.gz is not compressed by gzip, or was cut"):
        load_table(here / "cut.csv.gz", Reading("label"))


def test_quoted_cells_with_line_breaks_may_end_in_another_block(here, monkeypatch):
    monkeypatch.setattr(formats, "BLOCK_BYTES", 512)
    notes = [f"first {i}\nsecond, of {'x' * (i % 40)}\nthird" for i in range(60)]
    labelled().assign(note=notes).to_csv("data.csv", index=False)
    assert load_table(here / "data.csv", Reading("label")).X["note"].tolist() == notes
    (here / "open.csv").write_text("a,label\n" + '1,"x\n' + "2,y\n" * 2000)
    with pytest.raises(Mistake, match=r"A quoted cell of .*open.csv does not end"):
        load_table(here / "open.csv", Reading("label"))


def test_a_late_text_is_named_with_its_column(here, monkeypatch):
    monkeypatch.setattr(formats, "BLOCK_BYTES", 256)
    frame = labelled(180).assign(b=1.0, c=2.0).astype({"c": object})
    frame.loc[170, "c"] = "tall"
    frame[["c", "b", "a", "label"]].to_csv("data.csv", index=False, encoding="utf-16")
    for columns in (["a", "c"], ["b", "c", "a"]):
        with pytest.raises(Mistake, match=r"Column 'c' of .* holds 'tall'"):
            load_table(here / "data.csv", Reading("label", columns=columns, encoding="utf-16"))


def test_components_are_chosen_on_a_part_with_classes_that_have_folds(here, monkeypatch, capfd):
    monkeypatch.setattr(fitting, "CHOOSING", 40)
    y = np.arange(300) % 60
    X = np.random.default_rng(0).normal(size=(300, 3)) + 3 * np.random.default_rng(1).normal(size=(60, 3))[y]
    np.savez("small.npz", X=X, y=y)
    part = fitting.choose_rows(y, 0)
    assert sorted(np.unique(y[part], return_counts=True)[1]) == [5] * 8
    assert run(["fit", "small.npz", *FAST]) == 0
    assert "chosen on 40 random rows" in capfd.readouterr().err
    assert len(fitting.choose_rows(np.arange(300) % 2, 0)) == 40


def test_a_tilde_in_the_value_of_an_option_is_the_home_folder(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    monkeypatch.setenv("USERPROFILE", str(here))
    labelled().to_csv("data.csv", index=False)
    assert run(["fit", "data.csv", "-t", "label", "-r", "1", "--out=~/m.skops", *FAST]) == 0
    assert run(["transform", "m.skops", "data.csv", "-o~/map.csv"]) == 0
    assert (here / "m.skops").exists()
    assert (here / "map.csv").exists()
    assert run(["info", "~/m.skops"]) == 0
    assert expand_value("--target=~") == "--target=~"
    assert expand_value("--title=a ~ b") == "--title=a ~ b"
    assert expand_value("--target=~nobody-has-this-name") == "--target=~nobody-has-this-name"
