"""Mistakes of users: one sentence that says what, where and what to do, exit code 1, no traceback, nothing written."""

import ctypes
import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import gramian

from cli_files import SOURCE, make_frame, write_files

pytest.importorskip("typer")
from gramian.cli import mapping
from gramian.cli.app import run
from gramian.cli.formats import check_names

# Without trials of several ways to learn.
FAST = ("--constraints", "triplets")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("mistakes")
    write_files(place)
    frame = make_frame()
    frame.drop(columns="label").assign(label="one").to_csv(place / "one.csv", index=False)
    mixed = frame.astype({"height": object})
    mixed.loc[16, "height"] = "tall"
    mixed.to_csv(place / "text.csv", index=False)
    for name, value in (("infinite", np.inf), ("huge", -1e200)):
        beyond = frame.copy()
        beyond.loc[5, "height"] = value
        beyond.to_csv(place / f"{name}.csv", index=False)
    frame[["empty", "label"]].to_csv(place / "missing.csv", index=False)
    frame.assign(label=None).to_csv(place / "unlabelled.csv", index=False)
    (place / "header.csv").write_text("a,b,label\n")
    (place / "nothing.csv").write_text("")
    (place / "ragged.csv").write_text("a,b,label\n1,2,x\n1,2\n")
    (place / "twice.csv").write_text("a,a,label\n1,2,x\n1,2,y\n")
    frame.assign(label=np.random.default_rng(0).integers(40, size=len(frame)) / 8).to_csv(place / "decimals.csv")
    (place / "friends.csv").write_text("ann,bob,2.5\nbob,eve,1\n")
    (place / "friend.csv").write_text("ann,bob,0\n")
    (place / "latin.csv").write_bytes("a,label\n1,caf\u00e9\n2,b\n".encode("latin1"))
    (place / "alone.csv").write_text("label\nx\ny\n")
    (place / "cut.parquet").write_bytes((place / "data.parquet").read_bytes()[:-40])
    (place / "cut.npz").write_bytes((place / "data.npz").read_bytes()[:-40])
    (place / "bad.svm").write_text("1 2:3\nhello world\n")
    (place / "odd.docx").write_text("text")
    (place / "text.npz").write_text("hello")
    np.savez(place / "noX.npz", Z=np.eye(3))
    np.savez(place / "short.npz", X=np.eye(3), y=[1, 2])
    assert run(["fit", str(place / "data.npz"), "-r", "1", *FAST, "-o", str(place / "arrays.skops")]) == 0
    assert run(["fit", str(place / "data.csv"), "-t", "label", "-r", "1", *FAST, "-o", str(place / "table.skops")]) == 0
    return place


MISTAKES = {
    "missing file": (["fit", "no.csv", "-t", "label"], "There is no file no.csv"),
    "folder": (["fit", ".", "-t", "label"], "is a folder"),
    "unknown kind": (["fit", "odd.docx", "-t", "label"], "of an unknown kind. Its name should end with"),
    "missing column": (["fit", "data.csv", "-t", "lable"], "no column 'lable'. Its columns are: height, rooms"),
    "no target": (["fit", "data.csv"], "Name it by --target"),
    "all missing": (["fit", "missing.csv", "-t", "label"], "No column has any values"),
    "no labels": (["fit", "unlabelled.csv", "-t", "label"], "No row of unlabelled.csv has a label"),
    "one class": (["fit", "one.csv", "-t", "label"], "All rows of one.csv have the label one"),
    "numbers as classes": (["fit", "data.csv", "-t", "height"], "they are no classes"),
    "text in numbers": (
        ["fit", "text.csv", "-t", "label"],
        "'height' of text.csv holds numbers, but 'tall' in line 18",
    ),
    "infinite": (["fit", "infinite.csv", "-t", "label"], "'height' of infinite.csv has inf in line 7; numbers may"),
    "huge": (["fit", "huge.csv", "-t", "label"], "'height' of huge.csv has -1e+200 in line 7; numbers may have a size"),
    "huge, streamed": (["fit", "huge.csv", "-t", "label", "--stream", "-r", "1"], "'height' of huge.csv has -1e+200"),
    "huge, mapped": (["transform", "table.skops", "huge.csv"], "Mend the cell (an empty one is missing)."),
    "no threads": (["fit", "data.npz", "--jobs", "0"], "--jobs 0 leaves no thread to work"),
    "header only": (["fit", "header.csv", "-t", "label"], "header.csv has a header and no rows"),
    "empty file": (["fit", "nothing.csv", "-t", "label"], "nothing.csv is empty"),
    "ragged": (["fit", "ragged.csv", "-t", "label"], "Line 3 of ragged.csv has 2 cells; expected 3"),
    "column twice": (["fit", "twice.csv", "-t", "label"], "two columns of the name 'a'"),
    "not UTF-8": (["fit", "latin.csv", "-t", "label"], "latin.csv is not UTF-8 text. Name its encoding"),
    "only labels": (["fit", "alone.csv", "-t", "label"], "no column besides 'label'"),
    "cut Parquet": (["fit", "cut.parquet", "-t", "label"], "cut.parquet is not a Parquet file, or was cut"),
    "cut NPZ": (["fit", "cut.npz"], "cut.npz is not a file of plain arrays, or was cut"),
    "bad svmlight": (["fit", "bad.svm"], "bad.svm is not in svmlight's format"),
    "no arrays": (
        ["fit", "text.npz"],
        "text.npz is not a file of plain arrays, or was cut while it was written: it ho",
    ),
    "pickle's name": (["fit", "data.npz", "-o", "m.pkl"], "ends in '.pkl', as pickles do"),
    "no X": (["fit", "noX.npz"], "noX.npz has no array X, but Z"),
    "y too short": (["fit", "short.npz"], r"y in short.npz has shape (2,); expected (3,)"),
    "components": (["fit", "data.npz", "-r", "many"], "--components many is not a number"),
    "too many components": (["fit", "data.npz", "-r", "50"], "--components 50 exceeds the 4 features"),
    "no folder": (["fit", "data.npz", "-o", "no/m.skops"], "does not exist. Make it first"),
    "out is a folder": (["fit", "data.npz", "-o", "."], "is a folder. Give the name of a file"),
    "stream without number": (["fit", "data.csv", "-t", "label", "--stream"], "--stream needs a number of components"),
    "stream of arrays": (["fit", "data.npz", "--stream", "-r", "1"], "--stream reads labelled rows of CSV and Parquet"),
    "pairs and triplets": (["fit", "data.csv", "--pairs", "a", "--triplets", "b"], "both given"),
    "no model": (["transform", "no.skops", "new.csv"], "There is no model no.skops"),
    "not a model": (["info", "data.csv"], "data.csv cannot be loaded"),
    "other columns": (["transform", "arrays.skops", "new.csv"], "columns without names"),
    "kept column": (["transform", "arrays.skops", "data.npz", "--keep", "id"], "--keep copies columns"),
    "kind of output": (["transform", "arrays.skops", "data.npz", "-o", "map.docx"], "should end with one of .csv"),
    "row": (["neighbours", "arrays.skops", "data.npz", "--row", "60"], "its rows are 0 to 59"),
    "count": (["neighbours", "arrays.skops", "data.npz", "--row", "1", "-k", "60"], "Choose 1 to 59"),
    "too many to show": (["neighbours", "arrays.skops", "data.npz"], "60 queries are too many to show"),
    "folds": (["evaluate", "data.npz", "--folds", "21"], "--folds 21 is not possible: the largest class has 20 rows"),
    "not square": (["embed", "known.csv"], "190 rows and 3 columns; a matrix of distances has as many rows"),
    "names as samples": (["embed", "friends.csv", "--pairs"], "by their numbers, 0, 1, 2, ..., in its first two"),
    "one line of names": (["embed", "friend.csv", "--pairs"], "a heading, but no line of two samples"),
    "no components": (["fit", "data.csv", "-t", "label", "-r", "0"], "Give a number of at least 1, or auto"),
    "decimals as labels": (["fit", "decimals.csv", "-t", "label", "-r", "1"], "they are no classes. For numbers, use"),
    "empty distances": (["embed", "nothing.csv"], "nothing.csv is empty. Give a matrix of distances"),
    "model over data": (["fit", "data.npz", "-r", "1", "-o", "data.npz"], "is the file that is read: it would be"),
    "map over data": (["transform", "arrays.skops", "data.npz", "-o", "./data.npz"], "is the file that is read"),
    "text as distances": (["embed", "data.csv"], "data.csv should hold numbers only"),
    "rows of a stream": (
        ["fit", "data.csv", "-t", "label", "-r", "1", "--stream", "--max-rows", "30"],
        "--max-rows changes nothing beside --stream: all rows are read",
    ),
    "rows of pairs": (["fit", "data.csv", "--pairs", "pairs.csv", "--max-rows", "30"], "changes nothing beside --pai"),
    "constraints of triplets": (
        ["fit", "data.csv", "--triplets", "triplets.csv", "--constraints", "pairs"],
        "--constraints changes nothing beside --triplets: no labels are learned from",
    ),
    "jobs of a cluster": (
        ["fit", "data.npz", "--dask", "tcp://nowhere:1", "--jobs", "2"],
        "--jobs changes nothing beside --dask",
    ),
    "texts of arrays": (["fit", "data.npz", "--text", "a"], "--text names columns, of which data.npz has none"),
    "texts, compared": (["evaluate", "data.svm", "--text", "a"], "--text names columns, of which data.svm has none"),
    "target of svmlight": (["fit", "data.svm", "-t", "y"], "the labels of data.svm begin its lines"),
    "checkpoint of a choice": (
        ["fit", "nothing.csv", "-t", "y", "--checkpoint", "state"],
        "--checkpoint needs a number of components",
    ),
    "image shape": (["report", "arrays.skops", "data.npz", "--image-shape", "8"], "not of the form HEIGHTxWIDTH"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_in_a_sentence(name, folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    arguments, message = MISTAKES[name]
    assert run(arguments) == 1
    err = capfd.readouterr().err
    assert message in " ".join(err.split())
    assert "Traceback" not in err
    assert "defect" not in err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_debug_shows_the_traceback_and_usage_has_its_own_code(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    assert run(["fit", "no.csv", "-t", "x", "--debug"]) == 1
    err = capfd.readouterr().err
    assert "Traceback" in err
    assert "There is no file no.csv" in err
    assert run(["fit"]) == 2
    assert run(["fit", "data.csv", "--nonsense"]) == 2
    assert run(["nonsense"]) == 2
    assert run(["report", "arrays.skops", "data.npz", "--max-rows", "2001"]) == 2
    assert run(["--version"]) == 0
    assert run(["fit", "--help"]) == 0


def test_an_encoding_can_be_named(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    run(["fit", "latin.csv", "-t", "label", "--encoding", "latin1"])
    assert "not UTF-8" not in capfd.readouterr().err
    assert run(["fit", "latin.csv", "-t", "label", "--encoding", "klingon"]) == 1
    assert "--encoding klingon is not known" in capfd.readouterr().err


def test_text_in_a_later_block_is_named(folder, monkeypatch, capfd, tmp_path):
    from gramian.cli import formats

    monkeypatch.setattr(formats, "BLOCK_BYTES", 256)
    lines = [f"{i},{i % 2}" for i in range(200)]
    lines[150] = "tall,1"
    (tmp_path / "late.csv").write_text("height,label\n" + "\n".join(lines))
    assert run(["fit", str(tmp_path / "late.csv"), "-t", "label", "-r", "1"]) == 1
    err = capfd.readouterr().err
    assert "Column 'height'" in err
    assert "'tall'" in err
    assert "--text height" in err


def test_a_full_disk_leaves_what_was_there(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    (folder / "old.csv").write_text("before")

    def fill(self, frame):
        raise OSError(errno.ENOSPC, "No space left on device", "old.csv")

    monkeypatch.setattr(mapping.Writer, "write", fill)
    assert run(["transform", "arrays.skops", "data.npz", "-o", "old.csv"]) == 1
    assert "The disk is full: old.csv was not written" in capfd.readouterr().err
    assert (folder / "old.csv").read_text() == "before"
    assert not list(folder.glob(".old.csv*"))


@pytest.mark.parametrize("n_full", [1, 2])
def test_a_full_disk_does_not_lose_the_fit(n_full, folder, monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    save = gramian.save

    def save_unless_full(model, path):
        if n_full == 2 or path.parent == Path():
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        save(model, path)

    monkeypatch.setattr(gramian, "save", save_unless_full)
    assert run(["fit", "data.npz", "-r", "1", *FAST, "-o", "m.skops"]) == 1
    err = capfd.readouterr().err
    assert "The disk is full: m.skops was not written" in err
    rescued = list(tmp_path.glob("gramian-*/m.skops"))
    assert len(rescued) == 2 - n_full
    assert all(f"it was saved to {path}" in err for path in rescued)
    assert len(list(tmp_path.iterdir())) == len(rescued)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_device_is_reported(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(mapping, "replaced_at_the_end", _DevFull)
    assert run(["transform", "arrays.skops", "data.npz", "-o", "full.csv"]) == 1
    assert "disk is full" in capfd.readouterr().err


class _DevFull:
    def __init__(self, out):
        pass

    def __enter__(self):
        return "/dev/full"

    def __exit__(self, *error):
        return False


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_reported(folder, monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(folder)
    tmp_path.chmod(0o500)
    assert run(["fit", "data.npz", "-r", "1", "-o", str(tmp_path / "m.skops")]) == 1
    assert "cannot be written: Permission denied" in capfd.readouterr().err


def test_permission_denied_is_told_before_the_fit(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)

    def refuse(self, *arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "touch", refuse)
    assert run(["fit", "data.npz", "-r", "1", "-o", "m.skops"]) == 1
    err = capfd.readouterr().err
    assert "--out m.skops cannot be written: Permission denied" in err
    assert "trying" not in err


def test_an_interrupted_write_leaves_nothing_behind(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)

    def interrupt(self, frame):
        raise KeyboardInterrupt

    monkeypatch.setattr(mapping.Writer, "write", interrupt)
    assert run(["transform", "arrays.skops", "data.npz", "-o", "new_map.csv"]) == 130
    assert "Interrupted" in capfd.readouterr().err
    assert not list(folder.glob("*new_map.csv*"))


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_control_c_ends_a_fit_with_130_and_without_a_traceback(folder):
    rng = np.random.default_rng(0)
    np.savez(folder / "long.npz", X=rng.normal(size=(4000, 40)), y=np.arange(4000) % 7)
    command = [sys.executable, "-m", "gramian.cli", "fit", "long.npz", "-o", "long.skops"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    settings = {"cwd": folder, "env": environment, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **settings) as process:
        seen = []
        end = time.monotonic() + 60
        while not any("preparing" in line for line in seen) and time.monotonic() < end:
            seen.append(process.stderr.readline())
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Interrupted." in rest
    assert "Traceback" not in rest
    assert not (folder / "long.skops").exists()


def test_control_c_that_compiled_code_drops_ends_a_command_with_130(monkeypatch, capsys):
    from gramian.cli import app, inspecting

    def lose_the_interrupt(model):
        # As a callback of a compiler does: Python reports the exception and goes on, and the caller misses a result.
        callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
        callback()
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(inspecting, "show_model", lose_the_interrupt)
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    assert app.run(["info", "model.skops"]) == 130
    shown = capsys.readouterr().err
    assert "Interrupted." in shown
    assert "no compiled object" not in shown
    assert "Traceback" not in shown
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before


def test_control_c_that_is_dropped_is_repeated(monkeypatch, capsys):
    from gramian.cli import app, inspecting

    ended = []

    def go_on_after_the_interrupt(model):
        callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
        callback()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            time.sleep(0.01)
        ended.append(model)

    monkeypatch.setattr(inspecting, "show_model", go_on_after_the_interrupt)
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    assert app.run(["info", "model.skops"]) == 130
    assert not ended
    assert "Interrupted." in capsys.readouterr().err
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before


def test_the_missing_extra_is_named(monkeypatch, capsys):
    from gramian import cli

    monkeypatch.setattr(cli, "NEEDED", ("typer", "nonsense_package"))
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    assert "needs nonsense_package. Install: pip install 'gramian[cli]'" in capsys.readouterr().err


def test_names_are_compared_a_few_times_each(tmp_path):
    class Name(str):
        compared = 0

        def __eq__(self, other):
            Name.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(f"x{i}") for i in range(1000)]
    check_names(tmp_path / "wide.csv", names, [Name(name) for name in names])
    assert Name.compared < 10 * len(names)
