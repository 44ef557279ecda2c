"""The demo: its table, pictures, model and report."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits

import gramian

from cli_files import run_process

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
from gramian.cli import demo
from gramian.cli.app import run


def test_the_demo_lowers_the_error_and_writes_pictures_model_and_report(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(demo, "SIZES", (2, 8))
    # Without trials of several ways to learn.
    monkeypatch.setattr(demo, "MetricLearner", partial(gramian.MetricLearner, constraints="triplets"))
    outcome = demo.run_demo(tmp_path / "demo")
    out, err = capfd.readouterr()
    errors = outcome.errors
    assert errors["gramian"][2] < errors["PCA"][2] - 5
    assert errors["gramian"][8] < errors["PCA"][8]
    for size in (2, 8):
        assert f"{errors['gramian'][size]:.1f} %" in out
    assert "Two numbers are few for ten digits" in out
    for name in ("digits.png", "neighbours.png"):
        assert (tmp_path / "demo" / name).read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "demo" / "digits.html") in out
    assert "images of handwritten digits to learn from" in err
    stored = gramian.load(tmp_path / "demo" / "digits.skops")
    np.testing.assert_array_equal(stored.components_, outcome.learners[8].components_)


def test_the_demo_leaves_it_to_its_table_that_two_numbers_are_few(monkeypatch):
    monkeypatch.setattr(demo, "SIZES", (2,))
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = demo.compare(demo.Digits(X[:800], y[:800], X[800:], y[800:]))
    choice = outcome.learners[2].choice_
    assert choice.errors["euclid"] < choice.errors[choice.plan] - 0.1
    assert not caught


def test_help_of_the_demo_does_not_run_it(tmp_path):
    import os
    import subprocess
    import sys

    command = [sys.executable, "-m", "gramian.demo", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ, timeout=60)
    assert done.returncode == 0
    assert "--out" in done.stdout
    assert not list(tmp_path.iterdir())
    assert run_process(tmp_path, "demo", "--nonsense").code == 2


def test_a_folder_that_is_a_file_is_reported(tmp_path, capfd):
    (tmp_path / "file").write_text("")
    assert run(["demo", "--out", str(tmp_path / "file")]) == 1
    assert "Traceback" not in capfd.readouterr().err
