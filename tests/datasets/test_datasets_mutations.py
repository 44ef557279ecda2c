"""Damaged files of data sets end in one clear error, or load what the catalogue promises.

`python -m harness.mutations` runs as many cases as wanted, in processes of their own.
"""

import io
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from gramian import datasets
from gramian.datasets import archive, store
from harness import mutations

SIZE = (4, 3, 2)
X = scipy.sparse.csr_array(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3], [0, 4, 5]], dtype=np.uint16))
PARTS = {"csr_data": X.data, "csr_indices": X.indices, "csr_indptr": X.indptr, "csr_shape": np.array(X.shape)}
SPARSE = PARTS | {"target": np.array([0, 1, 0, 1])}
DENSE = {"data": X.toarray(), "target": np.array([0, 1, 0, 1])}


@pytest.fixture
def read_file(tmp_path):
    """A function that reads a file of given arrays or bytes."""

    def read(content):
        path = tmp_path / "set.npz"
        if isinstance(content, dict):
            np.savez_compressed(path, **content)
        else:
            path.write_bytes(content)
        return store.read(path, SIZE)

    return read


@pytest.mark.parametrize("kind", mutations.KINDS)
@pytest.mark.parametrize("name", mutations.examples())
def test_mutations_are_refused_or_load_well(kind, name, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path))
    path = tmp_path / f"{name}.npz"
    for seed in range(12):
        rng = np.random.default_rng([20111, seed])
        path.write_bytes(mutations.KINDS[kind](rng, mutations.examples()[name]))
        assert mutations.outcome_of(name, path) in ("refused", "loaded"), f"seed {seed}"


@pytest.mark.parametrize("name", mutations.examples())
def test_intact_examples_load(name, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path))
    path = tmp_path / f"{name}.npz"
    np.savez_compressed(path, **mutations.examples()[name])
    assert mutations.outcome_of(name, path) == "loaded"
    path.write_bytes(path.read_bytes()[:-1])
    assert mutations.outcome_of(name, path) == "refused"


def test_a_run_counts_how_loads_end():
    counts = mutations.run(0, range(20))
    assert counts.total() == 20
    assert set(counts) == {"refused", "loaded"}
    assert counts == mutations.run(0, range(20))


def test_a_process_that_ends_is_counted_as_a_fault(monkeypatch):
    class Ended:
        returncode, stderr, stdout = -11, "", "case 0\ncase 1\n"

    class Done:
        returncode, stderr, stdout = 0, "", "case 2\n1 refused\x001 loaded"

    answers = iter([Ended, Done])
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: next(answers))
    monkeypatch.setattr(mutations, "run", lambda seed, numbers: {"refused": len(numbers)})
    counts = mutations.soak(4, 0)
    assert counts["refused"] == 2
    assert counts["loaded"] == 1
    assert [end for end in counts if end.startswith("fault 1: the process ended with -11")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"csr_indices": np.array([1, 0, 2, 1, 10**6])}, r"its csr_indices\[4\] = 1000000 is out of range"),
        ({"csr_indices": np.array([1, 0, 2, 1, -1])}, r"its csr_indices\[4\] = -1 is out of range"),
        ({"csr_indices": np.array([1, 0, 2, 1], np.int32)}, r"its csr_indices is int32 of shape \(4,\)"),
        ({"csr_indices": np.array([1.0, 0, 2, 1, 0])}, "its csr_indices is float64"),
        ({"csr_indptr": np.array([0, 1, 10**6, 3, 5])}, r"its csr_indptr\[3\] = 3 is below the one before it, 1000000"),
        ({"csr_indptr": np.array([0, 1, 2, 3, 10**6])}, r"its csr_indptr\[4\] = 1000000; it must be"),
        ({"csr_indptr": np.array([0, 1, 2, 3, 4])}, r"its csr_indptr\[4\] = 4; it must be"),
        ({"csr_indptr": np.array([0, 1, 5])}, r"its csr_indptr is int64 of shape \(3,\)"),
        ({"csr_shape": np.array([4, 10**12])}, r"its csr_shape is \[4, 1000000000000\]; expected \[4, 3\]"),
        ({"csr_shape": np.array([4.0, 3.0])}, r"its csr_shape is \[4.0, 3.0\]"),
        ({"csr_data": X.data.astype("U1")}, "its data is of type <U1; expected numbers"),
        ({"target": np.array([0, 1, 0, 0.5])}, "its target is float64"),
        ({"target": np.array(0)}, "its target is int64 of shape"),
        ({"target_names": np.array(["a"])}, r"its target_names has shape \(1,\); expected \(2,\)"),
        ({"vocabulary_utf8": np.frombuffer(b"a\nb", np.uint8)}, "its vocabulary_utf8 has 2 lines; expected 3"),
        ({"feature_names": np.array([0x110000] * 3, np.uint32).view("U1")}, "its feature_names is not text"),
        ({"feature_names": np.array([0xD800] * 3, np.uint32).view("U1")}, "its feature_names is not text"),
    ],
)
def test_parts_that_do_not_fit_are_named(changes, message, read_file):
    with pytest.raises(datasets.DatasetDamaged, match=message):
        read_file(SPARSE | changes)


@pytest.mark.parametrize("index", ["i2", "u4", "u8", ">i4"])
def test_other_types_of_indices_are_read(index, read_file):
    changes = {key: PARTS[key].astype(index) for key in ("csr_indices", "csr_indptr")}
    np.testing.assert_array_equal(read_file(SPARSE | changes).X.toarray(), X.toarray())


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["u1", "<f4", ">f8", "f2", "?"])
def test_dense_files_are_read_as_numpy_reads_them(kind, order, read_file):
    data = np.asarray(X.toarray().astype(kind), order=order)
    read = read_file(DENSE | {"data": data, "feature_names": np.array([b"a", b"b", b"c"])})
    np.testing.assert_array_equal(read.X, data)
    assert read.X.dtype == data.dtype.newbyteorder("=")
    assert read.X.flags.writeable
    assert read.feature_names == ("a", "b", "c")


def archive_of(**members):
    return mutations.to_zip((f"{key}.npy", value) for key, value in members.items())


def array_with(header, size=96):
    header = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(size)


@pytest.mark.parametrize("header", mutations.HEADERS)
def test_headers_are_matched_and_never_evaluated(header, read_file):
    with pytest.raises(datasets.DatasetDamaged, match="its data"):
        read_file(archive_of(data=array_with(header), target=mutations.to_npy(DENSE["target"])))


def test_no_memory_is_reserved_for_what_a_file_claims(read_file, monkeypatch):
    reserved = []
    # A copy of the module: other threads use numpy itself.
    watched = SimpleNamespace(**vars(np))
    watched.empty = lambda size, dtype: reserved.append(size) or np.empty(size, dtype)
    monkeypatch.setattr(archive, "np", watched)
    read_file(DENSE)
    assert sum(reserved) > 0
    reserved.clear()
    huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (2000000000, 3), }"
    with pytest.raises(datasets.DatasetDamaged, match="48000000000 bytes; at most 96 were expected"):
        read_file(archive_of(data=array_with(huge), target=mutations.to_npy(DENSE["target"])))
    bomb = mutations.to_zip(mutations.to_members(SPARSE | {"csr_data": np.zeros(4 * 10**6)}).items())
    with pytest.raises(datasets.DatasetDamaged, match=r"its csr_data has shape .* at most .* were expected"):
        read_file(bomb)
    assert sum(reserved) < 1000


def test_a_directory_that_claims_gigabytes_reserves_none(tmp_path):
    content = bytearray(mutations.to_zip(mutations.to_members(DENSE).items()))
    end = content.rindex(b"PK\x05\x06")
    content[end + 12 : end + 16] = (2**32 - 2).to_bytes(4, "little")
    path = tmp_path / "set.npz"
    path.write_bytes(bytes(content))
    with archive.BoundedReader(path) as stream:
        assert len(stream.read(2**40)) == len(content)
    with pytest.raises(datasets.DatasetDamaged):
        store.read(path, SIZE)


def test_memory_that_a_good_file_needs_is_not_called_damage(read_file, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(archive.np, "empty", full)
    with pytest.raises(MemoryError):
        read_file(DENSE)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(method, read_file):
    with pytest.raises(datasets.DatasetDamaged, match="compressed in another way"):
        read_file(mutations.to_zip(mutations.to_members(DENSE).items(), method))


def test_keys_that_occur_twice_are_refused(read_file):
    members = [*mutations.to_members(DENSE).items(), ("data", b"")]
    with pytest.raises(datasets.DatasetDamaged, match="it has the key 'data' twice"):
        read_file(mutations.to_zip(members))


def test_pickles_are_never_loaded(read_file):
    class Trap:
        def __reduce__(self):
            return (sys.exit, ("a pickle was loaded",))

    trap = np.empty(3, object)
    trap[:] = [Trap()] * 3
    for key in ("data", "target", "feature_names"):
        members = mutations.to_members(DENSE) | {f"{key}.npy": mutations.to_npy(trap)}
        with pytest.raises(datasets.DatasetDamaged, match=f"its {key} is not an array of numbers or text"):
            read_file(mutations.to_zip(members.items()))


def write_set(folder, name, **arrays):
    content = io.BytesIO()
    np.savez_compressed(content, **(mutations.examples()[name] | arrays))
    (folder / f"{name}.npz").write_bytes(content.getvalue())


def test_files_that_cannot_be_prepared_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path))
    write_set(tmp_path, "colon", data=np.full((62, 2000), -1, np.int8))
    with pytest.raises(
        datasets.DatasetDamaged, match=r"colon\.npz cannot be used: 124000 of its values are not positive"
    ):
        datasets.load("colon")
    assert datasets.load("colon", raw=True).X.max() == -1
    write_set(tmp_path, "soybean", data=np.full((683, 35), np.nan))
    with pytest.raises(datasets.DatasetDamaged, match=r"soybean\.npz cannot be used: every sample has a missing value"):
        datasets.load("soybean")


def test_values_beyond_float32_are_not_made_infinite(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path))
    write_set(tmp_path, "balance_scale", data=np.full((625, 4), 1e300))
    with pytest.raises(ValueError, match=r"dtype=float32: some values are too large for it\. Choose np\.float64"):
        datasets.load("balance_scale", dtype=np.float32)
    assert datasets.load("balance_scale").X.max() == 1e300


def test_a_machine_without_a_home_has_a_cache_folder(monkeypatch):
    for key in ("HOME", "GRAMIAN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(key, raising=False)

    def nobody(*_):
        raise KeyError("uid not found")

    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert datasets.cache_folder().name == "gramian"
    assert not datasets.is_available("yaleb") or datasets.load("yaleb").name == "yaleb"


def test_signalling_nan_is_a_missing_value(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path))
    data = mutations.examples()["soybean"]["data"].copy()
    data.view(np.uint32)[0, 0] = 0x7F800001
    write_set(tmp_path, "soybean", data=data)
    assert np.isnan(datasets.load("soybean", raw=True).X[0, 0])
