"""Values that a file holds reach the model, and those that are copied the output, as they are written."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from cli_files import make_frame

pytest.importorskip("typer")
from gramian.cli import formats, mapping
from gramian.cli.app import run
from gramian.cli.embedding import read_numbers
from gramian.cli.formats import Block
from gramian.cli.models import fit_preparation
from gramian.cli.reading import Reading
from gramian.cli.screen import print_table
from gramian.cli.tables import load_table

FAST = ("--constraints", "triplets")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("values")
    frame = make_frame().assign(code=[f"{i % 3 + 10:05d}" for i in range(90)])
    frame.to_csv(place / "data.csv", index=False)
    frame.astype({"code": int}).to_parquet(place / "data.parquet")
    assert run(["fit", str(place / "data.csv"), "-t", "label", "-r", "1", *FAST, "-o", str(place / "m.skops")]) == 0
    return place


@pytest.mark.parametrize("cells", [lambda old: "180 cm", lambda old: old if old == old else "tall"])
def test_text_in_a_column_of_numbers_is_refused_in_new_rows_too(cells, folder, capsys):
    frame = pd.read_csv(folder / "data.csv").astype({"height": object})
    frame["height"] = [cells(old) for old in frame["height"]]
    frame.to_csv(folder / "new.csv", index=False)
    assert run(["transform", str(folder / "m.skops"), str(folder / "new.csv"), "-o", str(folder / "refused.csv")]) == 1
    assert "Column 'height'" in capsys.readouterr().err
    assert not (folder / "refused.csv").exists()


def test_text_in_a_column_of_dates_is_refused_in_new_rows(folder, capsys):
    frame = pd.read_csv(folder / "data.csv")
    frame.loc[4, "since"] = "some day"
    frame.to_csv(folder / "days.csv", index=False)
    assert run(["transform", str(folder / "m.skops"), str(folder / "days.csv"), "-o", str(folder / "d.csv")]) == 1
    assert "holds dates, but 'some day' in line 6" in capsys.readouterr().err


def test_dates_are_dates_to_the_model_and_stay_as_written_in_labels_and_in_columns_that_are_kept(folder):
    days = [date(1, 1, 1), date(9999, 12, 31), None, *(date(2020, 1 + i % 3, 1) for i in range(87))]
    frame = pd.read_csv(folder / "data.csv").assign(since=days)
    frame.to_parquet(folder / "days.parquet")
    table = load_table(folder / "days.parquet", Reading("since"))
    assert set(table.y) == {"0001-01-01", "9999-12-31", "2020-01-01", "2020-02-01", "2020-03-01"}
    read = load_table(folder / "days.parquet", Reading("label")).X["since"]
    assert (read.dt.year[:2].tolist(), int(read.isna().sum())) == ([1, 9999], 1)
    out = folder / "kept-days.csv"
    assert run(["transform", str(folder / "m.skops"), str(folder / "data.csv"), "--keep", "since", "-o", str(out)]) == 0
    assert pd.read_csv(out)["since"].tolist() == pd.read_csv(folder / "data.csv")["since"].tolist()
    frame.iloc[3:].to_parquet(folder / "later.parquet")
    out = folder / "kept-days.parquet"
    assert (
        run(["transform", str(folder / "m.skops"), str(folder / "later.parquet"), "--keep", "since", "-o", str(out)])
        == 0
    )
    assert pd.read_parquet(out)["since"].tolist() == days[3:]


def test_a_seed_fixes_what_texts_of_many_values_become(folder):
    words = np.array(["oak", "elm", "fir", "ash", "yew", "box", "bay"])
    texts = [" ".join(words[list(np.random.default_rng(i).permutation(7)[:4])]) for i in range(90)]
    frame = pd.read_csv(folder / "data.csv").drop(columns=["label", "empty"]).assign(text=texts)
    seeds = (3, 3, 4)
    once, again, other = (fit_preparation(frame, Reading(None, seed=seed)).transform(frame) for seed in seeds)
    np.testing.assert_array_equal(once, again)
    assert np.any(once != other)


def test_columns_that_are_kept_are_copied_as_they_are_written(folder):
    ids = ["00123", "1234567890123456789", *(str(i) for i in range(88))]
    pd.read_csv(folder / "data.csv").assign(id=ids).to_csv(folder / "ids.csv", index=False)
    out = folder / "kept.csv"
    assert run(["transform", str(folder / "m.skops"), str(folder / "ids.csv"), "--keep", "id", "-o", str(out)]) == 0
    assert pd.read_csv(out, dtype=str)["id"].tolist() == ids


def test_columns_of_the_model_are_copied_as_they_are_written_too(folder):
    frame = pd.read_csv(folder / "data.csv", dtype=str)
    frame["rooms"] = [f"0{rooms}" for rooms in frame["rooms"]]
    frame.to_csv(folder / "rooms.csv", index=False)
    out, keep = folder / "rooms-map.csv", ["--keep", "rooms", "--keep", "since", "--keep", "height"]
    assert run(["transform", str(folder / "m.skops"), str(folder / "rooms.csv"), *keep, "-o", str(out)]) == 0
    pd.testing.assert_frame_equal(
        pd.read_csv(out, dtype=str)[["rooms", "since", "height"]], frame[["rooms", "since", "height"]]
    )
    assert '"01"' in out.read_text()


def test_cells_that_are_read_twice_stay_beside_their_rows(folder, monkeypatch):
    sizes = {"quiet": iter([7, 50, 33]), "loud": iter([40, 1, 49])}
    frame = pd.DataFrame({"a": [f"0{i}" for i in range(90)]})

    def read_parts(path, *, columns, encoding, quiet=False, as_written=False):
        start = 0
        for size in sizes["quiet" if quiet else "loud"]:
            yield Block(frame.iloc[start : start + size].reset_index(drop=True), start)
            start += size

    monkeypatch.setattr(mapping, "read_blocks", read_parts)
    cells = mapping.Cells(folder / "data.csv", ["a"], Reading())
    parts = [cells.take(len(block.frame)) for block in read_parts(None, columns=[], encoding="")]
    assert [cell for part in parts for cell in part["a"]] == frame["a"].tolist()


def test_a_category_that_is_new_is_named_with_its_column(folder, capsys):
    frame = pd.read_csv(folder / "data.csv")
    frame.loc[:1, "colour"] = ["violet", "orange"]
    frame.to_csv(folder / "colours.csv", index=False)
    model, data = str(folder / "m.skops"), str(folder / "colours.csv")
    for command in (["transform", model, data, "-o", str(folder / "z.csv")], ["report", model, data, "-t", "label"]):
        report = ["-o", str(folder / "r.html")] if command[0] == "report" else []
        assert run([*command, *report]) == 0
        noted = capsys.readouterr().err
        assert noted.count("Column 'colour' has values from which the model has not learned: 'violet' and 1 more") == 1
        assert "columns [0]" not in noted


def test_the_help_shows_no_value_for_a_flag(capsys):
    for command, flag in (("fit", "--stream"), ("embed", "--pairs")):
        assert run([command, "--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert not any("<bool>" in line for line in lines if flag in line)


def test_a_kept_column_must_not_have_the_name_of_one_that_is_written(folder, capsys):
    arguments = ["transform", str(folder / "m.skops"), str(folder / "data.csv"), "--keep", "z1"]
    assert run([*arguments, "-o", str(folder / "z.npz")]) == 1
    assert "--keep z1 has the name" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_that_is_named_text_has_a_feature_for_each_value(kind, folder, capsys):
    out = folder / f"text-{kind}.skops"
    data = ["fit", str(folder / f"data.{kind}"), "-t", "label", "-r", "1", *FAST, "-o", str(out)]
    assert run([*data, "--text", "code"]) == 0
    with_texts = capsys.readouterr().out
    assert run(data) == 0
    count = [int(text.split("learned from ")[1].split()[0]) for text in (with_texts, capsys.readouterr().out)]
    assert count[0] == count[1] + 2
    assert run([*data, "--text", "cod"]) == 1
    assert "no column 'cod'" in capsys.readouterr().err
    assert run(["transform", str(out), str(folder / f"data.{kind}"), "-o", str(folder / "z.csv")]) == 0


def test_a_table_of_distances_as_pandas_writes_it(folder):
    points = np.random.default_rng(0).standard_normal((5, 2))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    pd.DataFrame(D).to_csv(folder / "d.csv")
    np.testing.assert_allclose(read_numbers(folder / "d.csv"), D)
    pd.DataFrame(np.where(np.eye(5) > 0, np.nan, D)).to_csv(folder / "bare.csv", header=False, index=False)
    assert read_numbers(folder / "bare.csv").shape == (5, 5)


def test_a_report_may_use_a_column_that_is_a_feature(folder):
    np.savetxt(folder / "pairs.csv", [[0, 3, 1], [0, 1, -1], [2, 5, 1], [2, 4, -1]], fmt="%d", delimiter=",")
    model = folder / "pairs.skops"
    fit = ["fit", str(folder / "data.csv"), "--pairs", str(folder / "pairs.csv"), "-r", "1", "-o", str(model)]
    assert run(fit) == 0
    page = folder / "page.html"
    assert run(["report", str(model), str(folder / "data.csv"), "--target", "label", "-o", str(page)]) == 0
    assert page.exists()


def test_tables_show_no_characters_that_control_a_terminal(capsys):
    print_table(["name"], [["a\x1b[2Jb"]])
    assert "\x1b[2J" not in capsys.readouterr().out


def test_labels_that_are_different_texts_are_different_classes(tmp_path):
    path = tmp_path / "labels.csv"
    for labels, wanted in (
        (["007", "7", "8"], ["007", "7", "8"]),
        (["1.0", "1", "2"], ["1.0", "1", "2"]),
        (["3.0", "1.0", "2.0"], [3, 1, 2]),
        (["10000000000000000001", "10000000000000000002", "3"], ["10000000000000000001", "10000000000000000002", "3"]),
    ):
        path.write_text("a,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
        assert load_table(path, Reading("label")).y.tolist() == wanted


def test_numbers_far_from_zero_keep_their_differences(rng, tmp_path):
    z = rng.standard_normal(200)
    frame = pd.DataFrame({"seconds": (1.7e9 + 10 * z).astype(np.int64), "plain": z, "gone": z})
    frame.loc[3, "gone"] = np.nan
    found = fit_preparation(frame, Reading()).transform(frame)
    assert np.asarray(found).shape == (200, 3)
    for column in np.asarray(found).T:
        assert np.corrcoef(column, z)[0, 1] > 0.98


def test_a_file_of_numbers_far_from_zero_is_mapped_as_it_was_read(rng, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    z = rng.standard_normal(120)
    lines = [f"{1.7e9 + 10 * x:.1f};{y:.3f};{int(x > 0)}".replace(".", ",") for x, y in zip(z, z[::-1], strict=True)]
    (tmp_path / "comma.csv").write_text("\n".join(["t;u;label", *lines]) + "\n")
    assert run(["fit", "comma.csv", "-t", "label", "-r", "1", "--constraints", "triplets"]) == 0
    assert run(["transform", "model.skops", "comma.csv", "-o", "map.csv"]) == 0
    assert abs(np.corrcoef(pd.read_csv("map.csv")["z1"], z)[0, 1]) > 0.9
    (tmp_path / "text.csv").write_text("\n".join(["t;u;label", "oops;0,1;1"]) + "\n")
    capfd.readouterr()
    assert run(["transform", "model.skops", "text.csv"]) == 1
    assert "'t' of text.csv holds numbers, but 'oops' in line 2" in " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_columns_that_are_kept_may_begin_with_missing_cells(kind, folder, monkeypatch):
    monkeypatch.setattr(formats, "BLOCK_ROWS", 30)
    monkeypatch.setattr(formats, "BLOCK_BYTES", 1024)
    days, words = [None] * 60 + [date(2020, 1, 1)] * 30, [None] * 60 + ["oak"] * 30
    counts = [None] * 60 + list(range(30))
    frame = pd.DataFrame({"day": days, "word": words, "count": pd.array(counts, "Int64")})
    frame = pd.concat([pd.read_csv(folder / "data.csv", dtype={"code": str}), frame], axis=1)
    path, keep = folder / f"late.{kind}", ["--keep", "day", "--keep", "word", "--keep", "count", "--keep", "code"]
    getattr(frame, f"to_{kind}")(path, index=False)
    for out in (folder / "late-map.parquet", folder / "late-map.csv"):
        assert run(["transform", str(folder / "m.skops"), str(path), *keep, "-o", str(out)]) == 0
    found = pd.read_parquet(folder / "late-map.parquet")
    assert found["day"].isna()[:60].all()
    assert [str(day) for day in found["day"][60:]] == ["2020-01-01"] * 30
    assert [int(count) for count in found["count"][60:]] == list(range(30))
    lines = (folder / "late-map.csv").read_text().splitlines()
    assert lines[1].startswith(',,,"' if kind == "csv" else ",,,")
    assert '"oak",' in lines[61]
    assert pd.read_csv(folder / "late-map.csv", dtype=str)["count"].tolist()[60:] == [str(i) for i in range(30)]


def test_a_missing_text_in_an_npz_file_is_empty(folder):
    frame = pd.read_csv(folder / "data.csv").assign(note=[None, "oak", *["elm"] * 88])
    frame.to_csv(folder / "notes.csv", index=False)
    frame.to_parquet(folder / "notes.parquet")
    for name in ("notes.csv", "notes.parquet"):
        out = folder / "notes.npz"
        assert run(["transform", str(folder / "m.skops"), str(folder / name), "--keep", "note", "-o", str(out)]) == 0
        assert np.load(out)["note"][:3].tolist() == ["", "oak", "elm"]
