"""Commands from end to end: each kind of file as a process of its own, the rest in this process."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import gramian

from cli_files import run_process, write_files

pytest.importorskip("typer")
from gramian.cli.app import run
from gramian.cli.embedding import read_numbers

# Without trials of several ways to learn.
FAST = ("--constraints", "triplets")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cli")
    write_files(place)
    return place


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def gramian_run(here, capfd):
    """A function that runs a command in this process, and returns exit code, output and errors."""

    def call(*arguments):
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.fixture(scope="module")
def model(folder):
    ended = run_process(
        folder, "fit", "data.csv", "--target", "label", "--components", 2, "--out", "model.skops", *FAST
    )
    assert ended.code == 0, ended.err
    return ended


def test_fit_of_a_csv_file_tells_what_it_does_and_saves_the_whole_pipeline(folder, model):
    assert "reading data.csv" in model.err
    assert "left out: empty" in model.err
    assert "Saved: model.skops" in model.out
    assert "Next: gramian report model.skops data.csv --target label" in model.out
    pipeline = gramian.load(folder / "model.skops")
    names = [type(step).__name__ for _, step in pipeline.steps]
    assert names == ["TableVectorizer", "SimpleImputer", "StandardScaler", "MetricLearner"]
    learner = pipeline[-1]
    assert (learner.verbose, learner.n_jobs, learner.components_.shape[0]) == (0, None, 2)


@pytest.mark.parametrize("name", ["data.parquet", "data.npz", "data.svm"])
def test_fit_and_transform_of_other_kinds_of_files(folder, name):
    target = ["--target", "label"] if name == "data.parquet" else []
    ended = run_process(folder, "fit", name, *target, "-r", 1, "-o", f"{name}.skops", *FAST)
    assert (ended.code, ended.err.count("Traceback")) == (0, 0), ended.err
    assert gramian.load(folder / f"{name}.skops")[-1].components_.shape[0] == 1


def test_transform_writes_what_the_pipeline_returns(gramian_run, here, model):
    new = pd.read_csv("new.csv", parse_dates=["since"])
    expected = gramian.load("model.skops").transform(new.drop(columns="id"))
    for name in ("map.csv", "map.parquet", "map.npz"):
        code, out, _ = gramian_run("transform", "model.skops", "new.csv", "--keep", "id", "-o", name)
        assert (code, "10 rows" in out) == (0, True)
    mapped = pd.read_csv("map.csv")
    assert list(mapped) == ["id", "z1", "z2"]
    np.testing.assert_allclose(mapped[["z1", "z2"]], expected, rtol=1e-5)
    np.testing.assert_allclose(pd.read_parquet("map.parquet")[["z1", "z2"]], expected, rtol=1e-5)
    with np.load("map.npz") as stored:
        np.testing.assert_allclose(stored["Z"], expected, rtol=1e-5)
        assert list(stored["id"]) == [str(i) for i in range(10)]
    assert not list(here.glob(".*.part"))


def test_neighbours_are_those_of_the_learned_distance(gramian_run, here, model):
    code, out, _ = gramian_run("neighbours", "model.skops", "data.csv", "--row", 4, "--row", 9, "-k", 3)
    assert code == 0
    assert re.search(r"│ 4 +│", out)
    assert gramian_run("neighbours", "model.skops", "data.csv", "-k", 3, "-o", "near.csv")[0] == 0
    frame = pd.read_csv("data.csv", parse_dates=["since"]).drop(columns="label")
    Z = gramian.load("model.skops").transform(frame)
    distances = np.linalg.norm(Z[:, None] - Z, axis=2) + 1e9 * np.eye(len(Z))
    found = pd.read_csv("near.csv")
    assert len(found) == 3 * len(Z)
    np.testing.assert_allclose(
        found.distance.to_numpy().reshape(-1, 3), np.sort(distances, axis=1)[:, :3], rtol=1e-3, atol=1e-3
    )
    code, out, _ = gramian_run("neighbours", "model.skops", "data.csv", "--queries", "new.csv", "-k", 1)
    # The first rows of the data are the queries: each is its own nearest row.
    assert re.search(r"│ 7 +│ +7 \(", out)


def test_report_and_info(gramian_run, here, model):
    code, out, _ = gramian_run("report", "model.skops", "data.csv", "-t", "label", "-o", "page.html", "--title", "<b>")
    assert (code, str(here / "page.html") in out) == (0, True)
    text = (here / "page.html").read_text(encoding="utf-8")
    content = json.loads(re.findall(r'type="application/json">(.*?)</script>', text, re.S)[0])
    assert content["title"] == "<b>"
    assert content["classes"] == ["flat", "house", "hut"]
    assert "colour" in content["rows"]["names"]
    code, out, _ = gramian_run("info", "model.skops")
    assert code == 0
    for text in ("TableVectorizer", "MetricLearner", "height, rooms, colour", "spectrum"):
        assert text in out
    assert gramian_run("fit", "data.npz", "-r", 1, "-o", "images.skops", *FAST)[0] == 0
    code, _, err = gramian_run("report", "images.skops", "data.npz", "--image-shape", "2x3")
    assert (code, "does not fit 4 pixels" in err) == (1, True)


def test_components_are_chosen_by_cross_validation(gramian_run, here):
    code, out, err = gramian_run("fit", "data.npz", "-o", "auto.skops", *FAST)
    assert (code, "chosen:" in err) == (0, True)
    learner = gramian.load("auto.skops")[-1]
    assert type(learner).__name__ == "MetricLearnerCV"
    assert f"{learner.n_components_} numbers a sample" in out
    assert gramian_run("info", "auto.skops")[1].count("score by components") == 1


def test_pairs_and_triplets(gramian_run, here):
    for kind in ("pairs", "triplets"):
        code, out, err = gramian_run(
            "fit", "data.csv", f"--{kind}", f"{kind}.csv", "-t", "label", "-r", 2, "-o", "t.skops"
        )
        assert (code, "Saved" in out) == (0, True), err
    assert gramian.load("t.skops")[-1].tuple_size_ == 3
    (here / "far.csv").write_text("0,1,900\n")
    code, _, err = gramian_run("fit", "data.csv", "--triplets", "far.csv", "-r", 2)
    assert (code, "the rows of the data are 0 to 89" in err) == (1, True)
    code, _, err = gramian_run("fit", "data.csv", "--pairs", "triplets.csv", "-r", 2)
    assert (code, "1 for near and -1 for far" in err) == (1, True)
    for text, said in (
        ("0,1,1\n# between\n2,3,0.5\n", "the line '2,3,0.5'; expected three whole numbers"),
        ("0,1,1\n0,,1\n", "the line '0,,1'; expected three whole numbers"),
        ("0,1,1\n0,two,1\n", "the line '0,two,1'; expected three whole numbers"),
        ("0,1,1\n0,2,1e300\n", "the line '0,2,1e300'; expected three whole numbers"),
        ("0,1\n0,2\n", "has 2 columns; expected lines of three whole numbers"),
        ("i,j,sign\n", "has no lines of three whole numbers"),
    ):
        (here / "odd.csv").write_text(text)
        code, _, err = gramian_run("fit", "data.csv", "--pairs", "odd.csv", "-r", 2)
        assert (code, said in " ".join(err.split())) == (1, True), err


def test_a_stream_learns_from_all_rows(gramian_run, here, monkeypatch):
    from gramian.cli import fitting

    monkeypatch.setattr(fitting, "FIRST", 40)
    monkeypatch.setattr(fitting, "CHUNK", 30)
    code, _, err = gramian_run("fit", "data.csv", "-t", "label", "-r", 2, "--stream", "-o", "stream.skops", *FAST)
    assert (code, "random ones, then all follow in chunks" in err) == (0, True)
    assert gramian.load("stream.skops")[-1].n_seen_ >= 90


def test_a_sample_of_the_rows_is_reported(gramian_run):
    code, _, err = gramian_run("fit", "data.npz", "-r", 1, "--max-rows", 30, "-o", "part.skops", *FAST)
    assert (code, "60 rows, of which 30 random ones are learned from" in err) == (0, True)
    assert gramian.load("part.skops")[-1].n_seen_ == 30


def test_evaluate_compares_five_methods(gramian_run):
    code, out, _ = gramian_run("evaluate", "data.npz", "-r", 2, "--folds", 2)
    assert code == 0
    for name in ("Euclid", "PCA, 2", "LDA, 2", "NCA, 2", "gramian, 2"):
        assert name in out
    assert len(re.findall(r"\d+\.\d% ± \d+\.\d%", out)) == 5


def test_embed_recovers_distances_from_a_matrix_and_from_pairs(gramian_run, here):
    expected = np.loadtxt("distances.csv", delimiter=",")
    for arguments in (["distances.csv"], ["known.csv", "--pairs"]):
        code, out, err = gramian_run("embed", *arguments, "-o", "embedded.csv")
        assert (code, "20 samples in 2 dimensions" in out) == (0, True), err
        Z = pd.read_csv("embedded.csv").to_numpy()
        np.testing.assert_allclose(np.linalg.norm(Z[:, None] - Z, axis=2), expected, atol=1e-4)


@pytest.mark.parametrize("names", [range(1, 21), range(1990, 2010), [f"s{i}" for i in range(20)], range(20)], ids=str)
@pytest.mark.parametrize(("index", "label"), [(True, None), (True, "year"), (False, None)])
def test_names_of_rows_and_columns_are_no_distances(gramian_run, here, names, index, label):
    expected = np.loadtxt("distances.csv", delimiter=",")
    frame = pd.DataFrame(expected, columns=names, index=pd.Index(names, name=label))
    frame.to_csv("named.csv", index=index)
    code, out, err = gramian_run("embed", "named.csv", "-o", "embedded.csv")
    assert (code, "20 samples in 2 dimensions" in out) == (0, True), err
    Z = pd.read_csv("embedded.csv").to_numpy()
    np.testing.assert_allclose(np.linalg.norm(Z[:, None] - Z, axis=2), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "pairs", "shape"),
    [
        (",1.5,2.2\n1.5,0,3.1\n2.2,3.1,0", False, (3, 3)),  # a first distance that is not known
        (",1.5,2.2\n1.5,,3.1\n2.2,3.1,", False, (3, 3)),  # an empty diagonal
        ("first,second,distance\n1,0,3\n2,1,0", True, (2, 3)),
        (",7,9\n7,0,1.5\n9,1.5,0", False, (2, 2)),
        (",7,9\n7,2e-16,1.5\n9,1.5,0", False, (2, 2)),
    ],
)
def test_what_is_a_name_and_what_a_distance(tmp_path, text, pairs, shape):
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert read_numbers(path, pairs=pairs).shape == shape


def test_a_seed_below_zero_is_named(gramian_run, here):
    code, _, err = gramian_run("fit", "data.npz", "-r", 1, "--seed", -1)
    assert code != 0
    assert "--seed" in err


def test_a_checkpoint_is_gone_after_the_fit_and_not_in_the_model(gramian_run, here):
    code, _, err = gramian_run("fit", "data.npz", "-r", 1, "--checkpoint", "state", "-o", "c.skops")
    assert code == 0, err
    assert "trying neighbourhoods: 1 of" in err
    assert not (here / "state").exists()
    assert gramian.load("c.skops")[-1].checkpoint is None


def test_the_core_is_imported_without_the_command_line(folder):
    import subprocess
    import sys

    code = (
        "import gramian, sys; gramian.MetricLearner; gramian.write_report;"
        "print([m for m in ('typer', 'skrub', 'matplotlib', 'tqdm') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_semicolons_decimal_commas_and_few_rows(gramian_run, here):
    lines = [f"{i};{i % 2},{i};{'ab'[i % 2]}" for i in range(6)]
    (here / "semicolons.csv").write_bytes(b"\xef\xbb\xbfid;value;label\n" + "\n".join(lines).encode())
    code, out, err = gramian_run("fit", "semicolons.csv", "-t", "label", "-o", "few.skops", *FAST)
    assert code == 0, err
    assert "learned from 2 features" in out
    pipeline = gramian.load("few.skops")
    assert list(pipeline[0].feature_names_in_) == ["id", "value"]
    assert pipeline[-1].n_splits_ == 3
