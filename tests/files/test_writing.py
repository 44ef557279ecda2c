"""Writes are atomic: a failure leaves what was there, and nothing else."""

import errno
import os
import re
import stat
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import gramian
from gramian import KernelLearner, MetricLearner
from gramian.files import FileError
from gramian.files.atomic import write_atomically

from file_models import X, Y, fitted


@pytest.fixture
def old(tmp_path):
    """A file that is there already."""
    path = tmp_path / "model.gramian"
    gramian.save(MetricLearner(3), path)
    return path


def fail(*arguments, **keywords):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("broken", ["write", "fsync", "replace", "chmod"])
def test_a_write_that_fails_keeps_the_old_file(broken, old, monkeypatch):
    before = old.read_bytes()
    if broken == "write":
        opened = os.fdopen

        class Full:
            def __init__(self, handle, mode):
                self.stream = opened(handle, mode)

            def __enter__(self):
                return self

            def __exit__(self, *exception):
                self.stream.close()

            def write(self, content):
                self.stream.write(content[:100])
                fail()

        monkeypatch.setattr(os, "fdopen", Full)
    else:
        monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="No space left") as caught:
        gramian.save(fitted("pipeline"), old)
    monkeypatch.undo()
    assert caught.value.errno == errno.ENOSPC
    assert "what was there before is unchanged" in caught.value.__notes__[0]
    assert old.read_bytes() == before
    assert list(old.parent.iterdir()) == [old]
    assert gramian.load(old).n_components == 3


def test_an_interrupt_keeps_the_old_file(old, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    before = old.read_bytes()
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        gramian.save(fitted("pipeline"), old)
    assert old.read_bytes() == before
    assert list(old.parent.iterdir()) == [old]


def test_a_model_that_cannot_be_stored_keeps_the_old_file(old):
    before = old.read_bytes()
    with pytest.raises(FileError):
        gramian.save(MetricLearner(callback=print), old)
    assert old.read_bytes() == before
    assert list(old.parent.iterdir()) == [old]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"folder {re.escape(str(tmp_path))}/none of .* does not exist"):
        gramian.save(MetricLearner(), tmp_path / "none" / "model")


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder or a device"):
        gramian.save(MetricLearner(), tmp_path)
    with pytest.raises(IsADirectoryError):
        gramian.load(tmp_path)


def test_no_permission_is_an_os_error(tmp_path, monkeypatch):
    def refuse(*arguments, **keywords):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    # Root may write everywhere, so the system's refusal is played.
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError, match="Permission denied"):
        gramian.save(MetricLearner(), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_permissions_are_those_of_other_files(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    gramian.save(MetricLearner(), tmp_path / "model")
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    (tmp_path / "model").chmod(0o640)
    gramian.save(MetricLearner(), tmp_path / "model")
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640


def test_a_link_stays_a_link(old):
    link = old.parent / "link"
    link.symlink_to(old)
    gramian.save(MetricLearner(5), str(link))
    assert link.is_symlink()
    assert gramian.load(old).n_components == 5


def test_content_is_written_as_it_is(tmp_path):
    write_atomically(tmp_path / "a", b"one")
    write_atomically(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"two"


@pytest.mark.parametrize("name", ["m.pkl", "m.PICKLE", "m.joblib"])
def test_names_of_pickles_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"as pickles do, .* Choose a name that ends in .skops"):
        gramian.save(gramian.MetricLearner(2), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        gramian.load(tmp_path / "none")
    with pytest.raises(FileError, match="not a regular file"):
        gramian.load("/dev/zero")


class Own(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (
            MetricLearner(callback=print),
            "callback is the function 'print', which is not stored. Functions are not stored: set",
        ),
        (MetricLearner(preprocessor=pd.DataFrame(X)), "preprocessor is of type .*DataFrame.* by its method to_numpy"),
        (make_pipeline(StandardScaler(), MetricLearner(callback=fail)), r"steps\[1\]\[1\]\.callback is the function"),
        (KernelLearner(kernel=np.dot), "kernel is"),
        (KernelLearner(kernel=lambda a, b: 0.0), "kernel is the function"),
        (make_pipeline(FunctionTransformer(os.path.join), MetricLearner()), r"steps\[0\]\[1\]\.func is the function"),
        (make_pipeline(Own(), MetricLearner()), r"steps\[0\]\[1\] is of type '.*\.Own'"),
        (RandomForestClassifier(2, random_state=0).fit(X, Y), "is a decision tree"),
        (MetricLearner(n_jobs=threading.Lock()), "lock"),
        (make_pipeline(StandardScaler(), MetricLearner(init={(1, 2): 3})), "keys must be"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_stored_is_named(model, part, tmp_path):
    with pytest.raises(FileError, match=part) as caught:
        gramian.save(model, tmp_path / "model")
    assert str(caught.value).startswith(f"{type(model).__name__} cannot be saved: ")
    assert not list(tmp_path.iterdir())


def test_other_objects_are_refused(tmp_path):
    for thing in ({"a": 1}, MetricLearner, np.ones(3), None):
        with pytest.raises(TypeError, match="give an estimator or a pipeline to save"):
            gramian.save(thing, tmp_path / "model")


def test_stochastic_gradients_have_losses_that_are_stored(tmp_path):
    for loss in ("hinge", "log_loss", "modified_huber"):
        model = SGDClassifier(loss=loss, random_state=0).fit(X, Y)
        gramian.save(model, tmp_path / "model")
        assert np.array_equal(gramian.load(tmp_path / "model").decision_function(X), model.decision_function(X))


def test_skops_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"pip install 'gramian\[files\]'"):
        gramian.save(MetricLearner(), tmp_path / "model")
    with pytest.raises(ImportError, match=r"pip install 'gramian\[files\]'"):
        gramian.load(tmp_path / "model")


def test_safetensors_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"pip install 'gramian\[files\]'; or give \.npz"):
        gramian.export_map(fitted("metric, labels"), tmp_path / "map.safetensors")


def test_the_home_folder_may_be_a_tilde(tmp_path, monkeypatch, rng):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    X = rng.normal(size=(20, 3))
    model = gramian.MetricLearner(1, constraints="triplets", random_state=0).fit(X, np.arange(20) % 2)
    gramian.save(model, "~/model.skops")
    assert (tmp_path / "model.skops").exists()
    np.testing.assert_array_equal(gramian.load("~/model.skops").components_, model.components_)
    assert gramian.files.read_header(Path("~/model.skops")).rank == 1
    gramian.export_map(model, "~/map.npz")
    assert (tmp_path / "map.npz").exists()
    assert gramian.write_report(model, X, path="~/page.html") == tmp_path / "page.html"
    assert (tmp_path / "page.html").exists()
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    assert gramian.open_table("~/a.csv", "y").columns == ["x"]
