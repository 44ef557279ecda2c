"""Kernels work where nothing can be stored, and where what was stored is damaged."""

import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import pytest

import gramian
from gramian._kernels import compiled

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is stored where numba compiles nothing")
SOURCE = str(Path(gramian.__file__).parents[1])
# numba tries NUMBA_CACHE_DIR, the package's own folder and the home folder. For root every folder is writable, so the
# second is left out of numba's list.
READ_ONLY = """
import sys, warnings
from numba.core import caching
kinds = caching.CacheImpl._locator_classes
caching.CacheImpl._locator_classes = [kind for kind in kinds if "InTree" not in kind.__name__]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import gramian
    import gramian.estimators
    from gramian._kernels.pairs import pairs_predict
    import numpy as np
    assert not caught, "the import is not silent"
    for dtype in (np.float32, np.float64):
        value = pairs_predict(np.array([[0, 1], [0, 2]]), np.arange(6, dtype=dtype).reshape(3, 2))
assert value.tolist() == [8, 32]
sys.stdout.write("\\n".join(str(warning.message) for warning in caught))
"""
KERNEL = """
from gramian._kernels.compiled import compiled
@compiled
def double(x):
    return 2 * x
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the home folder of Windows is not found by HOME")
def test_a_read_only_installation_warns_once_and_works(tmp_path):
    (tmp_path / "file").write_text("")
    kept = {key: value for key, value in os.environ.items() if key != "XDG_CACHE_HOME"}
    places = {"HOME": "/proc/none", "NUMBA_CACHE_DIR": str(tmp_path / "file"), "PYTHONPATH": SOURCE}
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY], env=kept | places, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("cannot be stored") == 1
    assert "NUMBA_CACHE_DIR" in done.stdout


@pytest.fixture
def import_kernel(tmp_path, monkeypatch):
    """A function that imports a kernel anew, as another process would, with a cache of its own."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "_warned", False)
    path = tmp_path / "module.py"
    path.write_text(KERNEL)

    def load():
        spec = importlib.util.spec_from_file_location("module", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.double

    return load


def use(kernel):
    """Return how many of two calls, one a dtype, found their machine code on disk."""
    assert (kernel(3), kernel(0.5)) == (6, 1.0)
    return sum(kernel.stats.cache_hits.values())


def cut(content):
    return content[: len(content) // 2]


def empty(content):
    return b""


def flip(content):
    # Deep in the file. In a data file that is machine code, where without a digest nothing would notice.
    middle = len(content) // 2
    return content[:middle] + bytes(255 - byte for byte in content[middle : middle + 64]) + content[middle + 64 :]


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [cut, empty, flip])
def test_damaged_cache_files_are_compiled_again(suffix, damage, import_kernel, tmp_path):
    assert [use(import_kernel()), use(import_kernel())] == [0, 2]
    damaged = list((tmp_path / "cache").rglob(f"*{suffix}"))
    for path in damaged:
        path.write_bytes(damage(path.read_bytes()))
    assert len(damaged) == (1 if suffix == ".nbi" else 2)
    # The first use compiles and replaces what was damaged.
    assert [use(import_kernel()), use(import_kernel())] == [0, 2]


def test_a_file_of_numba_itself_is_replaced(import_kernel, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "find_cache", numba.core.caching.FunctionCache)
        use(import_kernel())
    assert [use(import_kernel()), use(import_kernel())] == [0, 2]


def test_a_folder_that_is_lost_is_one_warning(import_kernel, tmp_path):
    kernel = import_kernel()
    for path in sorted((tmp_path / "cache").rglob("*"), reverse=True):
        path.rmdir()
    (tmp_path / "cache").rmdir()
    (tmp_path / "cache").write_text("a file where the folder was")
    with pytest.warns(RuntimeWarning, match=r"cannot be stored.*NUMBA_CACHE_DIR") as caught:
        assert use(kernel) == 0
    assert len(caught) == 1


def test_no_folder_at_all_is_one_warning(import_kernel, monkeypatch):
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = import_kernel()
    with pytest.warns(RuntimeWarning, match=r"cannot be stored.*no locator available.*NUMBA_CACHE_DIR") as caught:
        assert use(kernel) == 0
    assert len(caught) == 1


SLOW = KERNEL.replace("import compiled", "import compiled_slowly").replace("@compiled", "@compiled_slowly(7)")


class Watcher:
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_a_long_compilation_is_announced_once(import_kernel, tmp_path, caplog):
    """To the log and to watchers; neither the second call nor another process that finds the machine code tells it."""
    (tmp_path / "module.py").write_text(SLOW)
    watcher = Watcher()
    compiled.WATCHERS.add(watcher)
    with caplog.at_level("INFO", logger="gramian"):
        kernel = import_kernel()
        assert kernel(0.5) == 1.0
        assert kernel(1.5) == 3.0
        assert import_kernel()(0.5) == 1.0
    assert caplog.messages == watcher.notes == ["compiling double for float64, once: about 7 s"]


def test_an_ended_watcher_is_told_nothing():
    watcher = Watcher()
    compiled.WATCHERS.add(watcher)
    assert watcher in compiled.WATCHERS
    del watcher
    assert not [each for each in compiled.WATCHERS if isinstance(each, Watcher)]


def test_a_long_compilation_without_a_folder_is_announced(import_kernel, tmp_path, monkeypatch, caplog):
    (tmp_path / "module.py").write_text(SLOW)
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    with caplog.at_level("INFO", logger="gramian"), pytest.warns(RuntimeWarning, match="cannot be stored"):
        assert import_kernel()(0.5) == 1.0
    assert caplog.messages == ["compiling double for float64, once: about 7 s"]


def test_a_short_compilation_is_not_announced(import_kernel, caplog):
    with caplog.at_level("INFO", logger="gramian"):
        use(import_kernel())
    assert caplog.messages == []
