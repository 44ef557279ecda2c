"""A fit that is interrupted and resumed equals the one that is not, bit for bit; and nothing that was there is lost."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from gramian import KernelLearner, MetricLearner, MetricLearnerCV, PSDRegressor, SStressMDS, SubspaceTracker
from gramian._checkpoints import session
from gramian._checkpoints.encoding import Decoder, Encoder, find_class
from gramian.atomic import part_prefix
from gramian.estimators import subspace
from gramian.estimators._candidates import Scored
from gramian.geometries import GEOMETRIES
from gramian.solvers import SOLVERS, GradientDescent, Growing, growing, loop

from helpers import GEOMETRY_EXAMPLES, regression

SKIPPED = ("time",)


class Stop(Exception):
    """Raised by a callback, as a power cut would."""


class StopAt:
    """A callback that raises after a number of records."""

    def __init__(self, count):
        self.count, self.seen = count, 0

    def __call__(self, record):
        self.seen += 1
        if self.seen > self.count:
            raise Stop


def fit_in_pieces(model, fit, path, length):
    """Return the model, fitted in several runs of a number of records each, and the number of runs."""
    for runs in range(1, 200):
        model.set_params(checkpoint=path, checkpoint_every=1e6, callback=StopAt(length))
        try:
            return fit(model), runs
        except Stop:
            assert os.listdir(path.parent)
    raise AssertionError("the fit does not get on")


def assert_same_fit(model, other):
    np.testing.assert_array_equal(model.factor_, other.factor_)
    assert model.factor_.dtype == other.factor_.dtype
    assert (model.n_iter_, model.message_, model.converged_) == (other.n_iter_, other.message_, other.converged_)
    for name in set(model.history_) - set(SKIPPED):
        np.testing.assert_array_equal(model.history_[name], other.history_[name], err_msg=name)
    assert list(model.history_["time"]) == sorted(model.history_["time"])


def check_resume(model, fit, path, length=2, least_runs=2):
    """Check that a fit in pieces equals the whole one; return both models."""
    whole = fit(clone(model))
    pieces, runs = fit_in_pieces(clone(model), fit, path, length)
    assert runs >= least_runs
    assert_same_fit(pieces, whole)
    assert not os.path.exists(path)
    return pieces, whole


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("geometry", GEOMETRY_EXAMPLES, ids=repr)
@pytest.mark.filterwarnings("ignore:not converged", "ignore:the cost rose", "ignore:stopped after")
def test_every_solver_and_geometry(rng, tmp_path, solver, geometry):
    X, y, _, _ = regression(rng, 60, 5, 2)
    y = y + 0.3 * rng.standard_normal(60)
    rank = None if geometry.full_rank else 2
    model = PSDRegressor(rank, geometry=geometry, solver=solver, max_iter=7, n_epochs=6, tol=1e-12, random_state=3)
    check_resume(model, lambda m: m.fit(X, y), tmp_path / "state.npz")


@pytest.mark.filterwarnings("ignore:not converged")
def test_float32_and_threads(rng, tmp_path):
    X, y, _, _ = regression(rng, 40_000, 4, 2, dtype=np.float32)
    y += rng.standard_normal(len(y)).astype(np.float32)
    model = PSDRegressor(2, max_iter=8, tol=1e-12, growing=False, n_jobs=2, random_state=0)
    check_resume(model, lambda m: m.fit(X, y), tmp_path / "state.npz")


class FailingStep:
    """A step of a solver that raises at every so-many-th call."""

    def __init__(self, step, every):
        self.step, self.every, self.count = step, every, 0

    def __call__(self, *arguments):
        self.count += 1
        if self.count % self.every == 0:
            raise Stop
        return self.step(*arguments)


def fit_until_done(model, X, y):
    """Fit again and again; return the number of runs."""
    for runs in range(1, 100):
        try:
            model.fit(X, y)
            return runs
        except Stop:
            assert os.path.exists(model.checkpoint)
    raise AssertionError("the fit does not get on")


def test_growing_subsets(rng, tmp_path, monkeypatch):
    X, y, _, _ = regression(rng, 30_000, 4, 2)
    y = y + rng.standard_normal(len(y))
    model = PSDRegressor(2, growing=Growing(tol=0.0, max_iter=40), tol=1e-9, random_state=0)
    counted = FailingStep(growing.attempt_step, 10**9)
    monkeypatch.setattr(growing, "attempt_step", counted)
    whole = clone(model).fit(X, y)
    assert counted.count > 20
    failing = FailingStep(counted.step, 7)
    monkeypatch.setattr(growing, "attempt_step", failing)
    runs = fit_until_done(model.set_params(checkpoint=tmp_path / "state.npz"), X, y)
    # Each run but the last takes six steps and fails in the seventh: none is repeated.
    assert failing.count == counted.count + runs - 1
    assert_same_fit(model, whole)


@pytest.mark.parametrize(
    "model",
    [
        PSDRegressor(2, n_init=4, random_state=0),
        PSDRegressor("auto", random_state=0),
        PSDRegressor(2, random_state=None),
    ],
    ids=["restarts", "rank", "no seed"],
)
@pytest.mark.filterwarnings("ignore:not converged")
def test_searches_over_starts_and_ranks(rng, tmp_path, model, monkeypatch):
    X, y, _, _ = regression(rng, 60, 8, 2)
    y = y + 0.1 * rng.standard_normal(60)
    whole = clone(model).fit(X, y)
    monkeypatch.setattr(loop, "attempt_step", FailingStep(loop.attempt_step, 17))
    model = clone(model).set_params(checkpoint=tmp_path / "state.npz")
    assert fit_until_done(model, X, y) > 1
    assert model.converged_
    if model.random_state is not None:
        assert_same_fit(model, whole)
        assert getattr(model, "rank_path_", None) == getattr(whole, "rank_path_", None)
        assert model.n_starts_ == whole.n_starts_


def labelled(rng, n=90, d=6):
    y = np.arange(n) % 3
    return rng.standard_normal((n, d)) + 0.8 * rng.standard_normal((3, d))[y], y


@pytest.mark.parametrize("constraints", ["auto", "triplets", "neighbourhoods", "pairs"])
@pytest.mark.filterwarnings("ignore:not converged", "ignore:on held-out")
def test_distances_from_labels(rng, tmp_path, constraints):
    X, y = labelled(rng)
    model = MetricLearner(2, constraints=constraints, n_rounds=3, max_iter=9, random_state=0)
    pieces, whole = check_resume(model, lambda m: m.fit(X, y), tmp_path / "state.npz", length=3)
    assert getattr(pieces, "choice_", None) == getattr(whole, "choice_", None)


@pytest.mark.filterwarnings("ignore:not converged", "ignore:the cost rose")
def test_distances_from_tuples_and_targets(rng, tmp_path):
    X, _ = labelled(rng)
    triplets = np.array([(i, (i + 3) % 90, (i + 1) % 90) for i in range(90)])
    check_resume(MetricLearner(2, max_iter=9), lambda m: m.fit_triplets(X, triplets), tmp_path / "a.npz")
    check_resume(
        MetricLearner(2, solver="online", random_state=0), lambda m: m.fit_triplets(X, triplets), tmp_path / "b"
    )
    target = X[:, 0] + 0.1 * rng.standard_normal(len(X))
    check_resume(MetricLearner(2, max_iter=9), lambda m: m.fit_targets(X, target), tmp_path / "c.npz")
    assert os.listdir(tmp_path) == []


@pytest.mark.filterwarnings("ignore:not converged")
def test_a_random_start_after_a_rank_was_chosen(rng, tmp_path):
    X, y = labelled(rng, 30)
    model = KernelLearner("auto", init="random", max_iter=9, random_state=0)
    whole = clone(model).fit(X, y)
    with pytest.raises(Stop):
        model.set_params(checkpoint=tmp_path / "state.npz", callback=StopAt(0)).fit(X, y)
    assert_same_fit(model.set_params(callback=None).fit(X, y), whole)


@pytest.mark.filterwarnings("ignore:not converged")
def test_kernels_and_maps(rng, tmp_path):
    X, y = labelled(rng, 30)
    check_resume(KernelLearner(2, max_iter=9, random_state=0), lambda m: m.fit(X, y), tmp_path / "a.npz")
    pairs = rng.permutation(30).reshape(15, 2)
    check_resume(KernelLearner(2, max_iter=9), lambda m: m.fit_pairs(X, pairs, 1.0), tmp_path / "b.npz")
    D = np.abs(rng.standard_normal((30, 30)))
    D = np.triu(D, 1) + np.triu(D, 1).T
    check_resume(SStressMDS(2, max_iter=9), lambda m: m.fit(D), tmp_path / "c.npz")
    ring = np.column_stack([np.arange(30), np.roll(np.arange(30), 1)])
    check_resume(SStressMDS(2, max_iter=9), lambda m: m.fit_pairs(ring, 1 + np.arange(30) % 4), tmp_path / "d.npz")


@pytest.fixture
def interrupted(rng, tmp_path):
    """A model, its data, and the checkpoint that its interrupted fit left."""
    X, y, _, _ = regression(rng, 60, 5, 2)
    y, path = y + 0.3 * rng.standard_normal(60), tmp_path / "state.npz"
    model = PSDRegressor(2, random_state=0, checkpoint=path, callback=StopAt(3))
    with pytest.raises(Stop) as caught:
        model.fit(X, y)
    assert "call fit again" in caught.value.__notes__[0]
    assert not hasattr(model, "factor_")
    return model.set_params(callback=None), X, y, path


def test_another_fit_is_refused_and_its_checkpoint_is_kept(interrupted):
    model, X, y, path = interrupted
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"another fit: data\.y was 'float64 \(60,\) .* delete the file to start anew"):
        model.fit(X, y + 1)
    with pytest.raises(ValueError, match=r"data\.X was .*\(60, 5\).* and is .*\(50, 5\)"):
        model.fit(X[:50], y[:50])
    with pytest.raises(ValueError, match=r"parameters\.rank was 2 and is 3"):
        PSDRegressor(3, random_state=0, checkpoint=path).fit(X, y)
    with pytest.raises(ValueError, match=r"parameters\.random_state was 0 and is None"):
        PSDRegressor(2, checkpoint=path).fit(X, y)
    with pytest.raises(ValueError, match=r"estimator was 'PSDRegressor' and is 'MetricLearner'"):
        MetricLearner(2, checkpoint=path).fit(X, np.arange(60) % 2)
    assert path.read_bytes() == before


def test_other_threads_and_reports_resume(interrupted):
    model, X, y, path = interrupted
    model.set_params(n_jobs=1, callback=lambda record: False, checkpoint_every=0).fit(X, y)
    assert model.converged_
    assert not path.exists()


def test_partial_fit_leaves_a_checkpoint_alone(interrupted):
    _, X, y, path = interrupted
    before = path.read_bytes()
    PSDRegressor(2, solver="online", checkpoint=path, random_state=0).partial_fit(X, y)
    assert path.read_bytes() == before


def test_files_that_are_no_checkpoints_are_kept(rng, tmp_path):
    X, y, _, _ = regression(rng, 60, 5, 2)
    path = tmp_path / "data.npz"
    for content in (b"", b"precious", None):
        if content is None:
            np.savez(path, X=X)
        else:
            path.write_bytes(content)
        before = path.read_bytes()
        with pytest.raises(ValueError, match=r"is not a checkpoint, or is damaged: .* It is left as it is") as found:
            PSDRegressor(2, checkpoint=path).fit(X, y)
        assert "pickle" not in str(found.value)
        assert path.read_bytes() == before


def test_a_cut_file_is_refused(interrupted):
    model, X, y, path = interrupted
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match="is not a checkpoint, or is damaged"):
        model.fit(X, y)


def test_a_class_of_another_package_is_not_found():
    with pytest.raises(ValueError, match=r"'os:system' is no class of gramian"):
        Decoder({}).decode({"object": "os:system", "variables": {}})
    with pytest.raises(ValueError, match="is no class of gramian"):
        find_class("gramian.checks:np.ndarray")
    with pytest.raises(TypeError, match="an array of objects cannot be stored"):
        Encoder().encode(np.array([object()]))


def test_places_that_cannot_be_written(rng, tmp_path):
    X, y, _, _ = regression(rng, 60, 5, 2)
    with pytest.raises(FileNotFoundError, match=r"the folder '.*absent' does not exist\. Make it first"):
        PSDRegressor(2, checkpoint=tmp_path / "absent" / "state.npz").fit(X, y)
    if Path("/proc/self").exists():
        with pytest.raises(OSError, match=r"no file can be written in '/proc/self'.*Choose another folder"):
            PSDRegressor(2, checkpoint="/proc/self/state.npz").fit(X, y)
    with pytest.raises(ValueError, match="checkpoint=3 is not valid"):
        PSDRegressor(2, checkpoint=3).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint_every=-1 is not valid"):
        PSDRegressor(2, checkpoint_every=-1).fit(X, y)


def test_a_full_disk_warns_and_the_fit_goes_on(rng, tmp_path, monkeypatch):
    X, y, _, _ = regression(rng, 60, 5, 2)
    path = tmp_path / "state.npz"
    whole = PSDRegressor(2, random_state=0).fit(X, y)

    def fail(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    model = PSDRegressor(2, random_state=0, checkpoint=path, checkpoint_every=0)
    with pytest.warns(UserWarning, match=r"could not be written: .*No space left on device.* The fit goes on"):
        model.fit(X, y)
    assert_same_fit(model, whole)
    assert os.listdir(tmp_path) == []


def test_a_disk_that_becomes_full_leaves_the_last_state(rng, tmp_path, monkeypatch):
    X, y, _, _ = regression(rng, 60, 5, 2)
    path, writes, save = tmp_path / "state.npz", [], np.savez
    settings = {"growing": False, "tol": 1e-12, "random_state": 0, "checkpoint": path, "checkpoint_every": 0}
    whole = PSDRegressor(2, **settings).fit(X, y)
    assert whole.n_iter_ > 6

    def fill_up(*arguments, **keywords):
        writes.append(path.read_bytes() if path.exists() else None)
        if len(writes) > 3:
            raise OSError(28, "No space left on device")
        save(*arguments, **keywords)

    def stop(record):
        if record.iteration == 5:
            raise RuntimeError("stopped")

    monkeypatch.setattr(session, "LARGEST_SHARE", 1.0)
    monkeypatch.setattr(np, "savez", fill_up)
    with pytest.warns(UserWarning, match="could not be written"), pytest.raises(RuntimeError, match="stopped"):
        PSDRegressor(2, callback=stop, **settings).fit(X, y)
    assert len(writes) > 4
    assert path.read_bytes() == writes[3]
    monkeypatch.setattr(np, "savez", save)
    first = []
    assert_same_fit(PSDRegressor(2, callback=lambda r: first.append(r.iteration), **settings).fit(X, y), whole)
    assert first[0] > 1


@pytest.mark.parametrize(("took", "longest"), [(0.0, 5.0), (2.0, 8.0)])
def test_at_most_one_interval_is_lost(rng, tmp_path, monkeypatch, took, longest):
    X, y, _, _ = regression(rng, 60, 5, 2)
    now, writes = [0.0], []
    monkeypatch.setattr(session, "perf_counter", lambda: now[0])
    write = session.write_file

    def note(*arguments):
        write(*arguments)
        now[0] += took
        writes.append(now[0])

    def tick(record):
        now[0] += 1.0

    monkeypatch.setattr(session, "write_file", note)
    settings = {"growing": False, "tol": 1e-300, "max_iter": 60, "random_state": 0}
    model = PSDRegressor(2, callback=tick, checkpoint=tmp_path / "state.npz", checkpoint_every=5, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.n_iter_ > 20
    # An iteration takes a second here. Writing takes a fifth of the time at the most.
    gaps = np.diff([0.0, *writes]) - took
    assert len(gaps) > 1
    assert gaps.max() <= longest + 1


class Own(GradientDescent):
    """A solver whose memory cannot be stored."""

    def step(self, evaluation, memory):
        step = super().step(evaluation, None)
        return step._replace(memory=Stop())


@pytest.mark.filterwarnings("ignore:not converged")
def test_a_solver_of_ones_own_warns(rng, tmp_path, monkeypatch):
    X, y, _, _ = regression(rng, 60, 5, 2)
    monkeypatch.setattr(session, "LARGEST_SHARE", 1.0)
    model = PSDRegressor(2, solver=Own(), random_state=0, max_iter=3, tol=0, checkpoint=tmp_path / "state.npz")
    with pytest.warns(UserWarning, match=r"a test_checkpoints\.Stop cannot be stored"):
        model.set_params(checkpoint_every=0).fit(X, y)
    assert model.n_iter_ == 3


def test_a_folder_has_a_file_for_each_fit(rng, tmp_path):
    X, y, _, _ = regression(rng, 60, 5, 2)
    y = y + 0.3 * rng.standard_normal(60)
    models = [PSDRegressor(rank, checkpoint=tmp_path, callback=StopAt(2), random_state=0) for rank in (1, 2)]
    for model in models:
        with pytest.raises(Stop):
            model.fit(X, y)
    assert len(os.listdir(tmp_path)) == 2
    for model in models:
        expected = PSDRegressor(model.rank, random_state=0).fit(X, y)
        assert_same_fit(model.set_params(callback=None).fit(X, y), expected)
    assert os.listdir(tmp_path) == []


def test_cross_validation_needs_a_folder(rng, tmp_path):
    X, y = labelled(rng)
    search = MetricLearnerCV([1, 2], estimator=MetricLearner(random_state=0, checkpoint=tmp_path / "one.npz"))
    with pytest.raises(ValueError, match=r"checkpoint=.* is a file, but .* Give a folder"):
        search.fit(X, y)


def test_a_folder_at_home(rng, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "states").mkdir()
    X, y = labelled(rng, 30)
    learner = MetricLearner(constraints="triplets", max_iter=3, n_rounds=1, callback=StopAt(2))
    with pytest.raises(Stop):
        # Each fit has its own file.
        MetricLearnerCV([1, 2], estimator=clone(learner).set_params(checkpoint="~/states")).fit(X, y)
    assert len(os.listdir(tmp_path / "states")) == 1
    monkeypatch.setattr(MetricLearnerCV, "_score_fold", lambda *given: Scored(np.ones(2), np.ones(2), {}))
    with pytest.raises(Stop):
        MetricLearnerCV([1, 2], estimator=learner, checkpoint="~/states").fit(X, y)
    assert os.listdir(tmp_path) == ["states"]


SCRIPT = """
import sys, time
from test_checkpoints import MODELS, data_of, session
session.LARGEST_SHARE = 1.0  # every iteration is written, however long that takes
fit, pause = sys.argv[1], 0.02

def tell(record):
    print(record.iteration, flush=True)
    time.sleep(pause)

model = MODELS[fit].set_params(checkpoint=sys.argv[2], checkpoint_every=0, callback=tell)
try:
    model.fit(*data_of(fit))
except KeyboardInterrupt as error:
    print("interrupted", hasattr(model, "factor_"), error.__notes__[0], flush=True)
    sys.exit(3)
"""
MODELS = {
    "regressor": PSDRegressor(3, geometry="flat", solver="gd", max_iter=30, tol=0, growing=False, random_state=0),
    "metric": MetricLearner(2, constraints="triplets", random_state=0),
}


def data_of(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 8)) * np.arange(1, 9)
    y = (X[:, :2] ** 2).sum(1) + rng.standard_normal(400) * 20
    return X, (y > np.median(y)).astype(int) if name == "metric" else y


def run_script(name, path, after, by, script=SCRIPT):
    """Run a fit in a process of its own, and send it a signal after a number of lines; return its lines and code."""
    command = [sys.executable, "-W", "ignore", "-c", script, name, str(path)]
    folders = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parent.parent), *sys.path])
    environment = os.environ | {"PYTHONPATH": folders}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if len(lines) == after:
                os.kill(process.pid, by)
    return lines, process.returncode


@pytest.mark.filterwarnings("ignore:not converged")
def test_a_link_stays_a_link(rng, tmp_path):
    X, y = labelled(rng, 30)
    target, link = tmp_path / "elsewhere" / "state.npz", tmp_path / "link.npz"
    target.parent.mkdir()
    link.symlink_to(target)
    model = KernelLearner(2, max_iter=9, random_state=0)
    whole = clone(model).fit(X, y)
    with pytest.raises(Stop):
        model.set_params(checkpoint=link, callback=StopAt(3)).fit(X, y)
    assert link.is_symlink()
    assert target.is_file()
    assert_same_fit(model.set_params(callback=None).fit(X, y), whole)
    assert link.is_symlink()
    assert os.listdir(target.parent) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "by"), [("metric", getattr(signal, "SIGKILL", None)), ("regressor", signal.SIGINT)])
@pytest.mark.filterwarnings("ignore:not converged")
def test_processes_that_are_killed(tmp_path, name, by):
    path, (X, y) = tmp_path / "state.npz", data_of(name)
    lines, code = run_script(name, path, 8, by)
    if by is signal.SIGINT:
        assert code == 3
        assert lines[-1].startswith("interrupted False The state of the fit is in")
    else:
        assert code == -by
    records = []
    (tmp_path / ".state.npz.~abc.part").write_bytes(b"left by a process that was killed")
    model = clone(MODELS[name]).set_params(checkpoint=path, callback=records.append).fit(X, y)
    assert_same_fit(model, clone(MODELS[name]).fit(X, y))
    # Eight lines are those of iterations 0 to 7; the state after iteration 6 was written before the last of them.
    assert records[0].iteration >= 7
    assert os.listdir(tmp_path) == []


def test_long_names_that_begin_alike_have_temporary_files_of_their_own(tmp_path):
    prefixes = {part_prefix(tmp_path / f"{'x' * 150}{end}") for end in ("a", "b")}
    assert len(prefixes) == 2
    assert all(len(prefix) < 110 for prefix in prefixes)


LONG_FITS = """
import sys, time
from gramian._checkpoints import session, stream
from gramian.estimators import metric_cv, subspace
from test_checkpoints import LONG
session.LARGEST_SHARE = stream.LARGEST_SHARE = 1.0
subspace.STORED_ROWS = 50
name, path = sys.argv[1:]
model, data = LONG[name]()
score, follow = metric_cv.MetricLearnerCV._score_fold, subspace.SubspaceTracker._follow

def tell(function):
    def call(*arguments):
        print("begin", flush=True)
        time.sleep(0.02)
        return function(*arguments)
    return call

metric_cv.MetricLearnerCV._score_fold, subspace.SubspaceTracker._follow = tell(score), tell(follow)
model.set_params(checkpoint=path, checkpoint_every=0)
model.fit_stream(data, n_epochs=2) if isinstance(data, list) else model.fit(*data)
"""


def make_folds():
    rng = np.random.default_rng(0)
    learner = MetricLearner(constraints="triplets", max_iter=5, n_rounds=1)
    return MetricLearnerCV([1, 2], estimator=learner, cv=5, random_state=0), labelled(rng)


def make_subspace():
    return SubspaceTracker(2, n_epochs=3, random_state=0), (np.random.default_rng(0).standard_normal((333, 6)),)


def make_stream():
    return SubspaceTracker(2, random_state=0), list(np.random.default_rng(0).standard_normal((6, 40, 5)))


LONG = {"folds": make_folds, "subspace": make_subspace, "stream": make_stream}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "after", "left"), [("folds", 4, 2), ("subspace", 9, 13), ("stream", 6, 7)])
@pytest.mark.filterwarnings("ignore:not converged", "ignore:stopped after")
def test_long_fits_that_are_killed(tmp_path, name, after, left, monkeypatch):
    path = tmp_path / "state.npz"
    lines, code = run_script(name, path, after, signal.SIGKILL, LONG_FITS)
    assert (code, len(lines)) == (-signal.SIGKILL, after)
    assert path.exists()
    (model, data), (whole, _) = LONG[name](), LONG[name]()
    calls = []
    monkeypatch.setattr(subspace, "STORED_ROWS", 50)
    for kind, method in ((MetricLearnerCV, "_score_fold"), (SubspaceTracker, "_follow")):
        monkeypatch.setattr(kind, method, counting(getattr(kind, method), calls))
    model.set_params(checkpoint=path)
    for each in (model, whole):
        if name == "stream":
            each.fit_stream(data, n_epochs=2)
        else:
            each.fit(*data)
        assert len(calls) <= left or each is whole
    np.testing.assert_array_equal(model.components_, whole.components_)
    if name == "folds":
        assert model.best_params_ == whole.best_params_
        for key in ("mean_test_score", "split0_test_score", "split4_test_score"):
            np.testing.assert_array_equal(model.cv_results_[key], whole.cv_results_[key])
        assert model.best_estimator_.checkpoint is None
    assert os.listdir(tmp_path) == []


def counting(function, calls):
    def call(*arguments):
        calls.append(1)
        return function(*arguments)

    return call


def test_the_checkpoint_of_other_folds_is_refused(rng, tmp_path, monkeypatch):
    X, y = labelled(rng)
    settings = {"random_state": 0, "checkpoint": tmp_path / "state.npz"}
    learner = MetricLearner(constraints="triplets", max_iter=3, n_rounds=1)
    monkeypatch.setattr(MetricLearnerCV, "_fit_all", lambda *arguments: StopAt(0)(None))
    with pytest.raises(Stop) as caught:
        MetricLearnerCV([1, 2], estimator=learner, cv=3, **settings).fit(X, y)
    assert "call fit again" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match=r"is that of another fit: .*parameters\.cv was 3 and is 4"):
        MetricLearnerCV([1, 2], estimator=learner, cv=4, **settings).fit(X, y)
    with pytest.raises(ValueError, match=r"data\.estimator\.max_iter was 3 and is 4"):
        MetricLearnerCV([1, 2], estimator=clone(learner).set_params(max_iter=4), cv=3, **settings).fit(X, y)


def test_registries_are_covered():
    assert {type(geometry) for geometry in GEOMETRY_EXAMPLES} == set(GEOMETRIES.values())
