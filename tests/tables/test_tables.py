"""Tables in files equal arrays, and what is wrong in them is named by file, row and column."""

import errno
import os
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

from gramian import open_table

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def write(path, X, y=None, **more):
    table = {f"x{j}": X[:, j] for j in range(X.shape[1])} | ({} if y is None else {"y": y}) | more
    table = pyarrow.table(table)
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        parquet.write_table(table, path, row_group_size=40)
    return path


@pytest.fixture(params=[".parquet", ".csv"])
def ending(request):
    pytest.importorskip("pyarrow.csv")
    return request.param


def read_all(table):
    parts = list(table)
    y = None if parts[0].y is None else np.concatenate([part.y for part in parts])
    return np.concatenate([part.X for part in parts]), y


def test_batches_equal_arrays(rng, tmp_path, ending):
    X, y = rng.standard_normal((100, 3)), rng.standard_normal(100)
    table = open_table(write(tmp_path / f"a{ending}", X, y), "y", batch_rows=7)
    for _ in range(2):
        found, target = read_all(table)
        np.testing.assert_array_equal(found, X)
        np.testing.assert_array_equal(target, y)
    assert max(len(part.X) for part in table) <= 7
    assert table.n_rows == (100 if ending == ".parquet" else None)
    assert (table.n_features, table.dtype, table.columns) == (3, np.float64, ["x0", "x1", "x2"])


def test_a_table_tells_what_it_is(rng, tmp_path, ending):
    path = write(tmp_path / f"a{ending}", rng.standard_normal((4, 3)), np.arange(4.0))
    assert repr(open_table(path, "y")) == f"<Table: {str(path)!r}, 3 features, target 'y'>"
    write(tmp_path / f"b{ending}", rng.standard_normal((4, 3)), np.arange(4.0))
    assert repr(open_table(tmp_path)) == "<Table: 2 files, 4 features, no target>"


def test_kinds_of_columns(rng, tmp_path):
    X = rng.standard_normal((50, 4)).astype(np.float32)
    labels = np.array(["near", "far"])[np.arange(50) % 2]
    path = tmp_path / "a.parquet"
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.ravel()), 4)
    kind = pyarrow.array(labels).dictionary_encode()
    parquet.write_table(pyarrow.table({"v": lists, "kind": kind, "count": np.arange(50, dtype=np.int32)}), path)
    found, y = read_all(open_table(path, "kind", columns=["v"]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, X)
    assert y.tolist() == labels.tolist()
    found, y = read_all(open_table(path, columns=["count", "v"], dtype=np.float32))
    assert y is None
    np.testing.assert_array_equal(found, np.column_stack([np.arange(50, dtype=np.float32), X]))


@pytest.fixture(params=["list_", "large_list"])
def lists(request):
    """Return a function from rows to lists of no fixed length, as pandas and Spark write them."""
    return lambda rows: pyarrow.array(rows, getattr(pyarrow, request.param)(pyarrow.float32()))


def write_lists(path, column, y=None):
    parquet.write_table(pyarrow.table({"v": column} | ({} if y is None else {"y": y})), path, row_group_size=16)
    return path


def test_lists_of_no_fixed_length_are_features(rng, tmp_path, lists):
    X = rng.standard_normal((50, 3)).astype(np.float32)
    path = write_lists(tmp_path / "b.parquet", lists(X.tolist()), np.arange(50))
    table = open_table(path, "y", batch_rows=7)
    assert (table.n_features, table.dtype) == (3, np.float32)
    np.testing.assert_array_equal(read_all(table)[0], X)
    # Spark writes files without rows.
    for name in ("a", "c"):
        write_lists(tmp_path / f"{name}.parquet", lists([]), np.arange(0))
    found, y = read_all(open_table(tmp_path, "y"))
    np.testing.assert_array_equal(found, X)
    assert y.tolist() == list(range(50))
    assert [part.X.size for part in open_table(tmp_path / "a.parquet")] == []
    np.testing.assert_array_equal(open_table(tmp_path).to_npy(tmp_path).X[:, :3], X)
    write_lists(tmp_path / "d.parquet", lists(X[:, :2].tolist()), np.arange(50))
    with pytest.raises(ValueError, match=r"d\.parquet has widths \[2\], but .*a\.parquet has \[3\]"):
        open_table(tmp_path, "y")


def test_a_list_of_another_length_is_named(tmp_path, lists):
    for bad, words in (([1.0], "a list of 1 numbers"), ([], "a list of 0 numbers"), (None, "no list")):
        for place in (5, 47):
            rows = [[1.0, 2.0] for _ in range(50)]
            rows[place] = bad
            path = write_lists(tmp_path / "a.parquet", lists(rows))
            with pytest.raises(
                ValueError, match=rf"a\.parquet: row {place}, counted from 0, has {words} in column 'v'"
            ):
                list(open_table(path, batch_rows=20))
    path = write_lists(tmp_path / "a.parquet", lists([None, [], [1.0], [2.0]]))
    with pytest.raises(ValueError, match="row 0, counted from 0, has no list"):
        list(open_table(path))
    path = write_lists(tmp_path / "a.parquet", pyarrow.array([["x"], ["y"]]))
    with pytest.raises(ValueError, match=r"column 'v' is of type list<.*string>; expected numbers"):
        open_table(path)


@pytest.mark.parametrize("kind", ["decimal128", "decimal256"])
def test_decimal_targets_are_numbers(rng, tmp_path, kind):
    X, y = rng.standard_normal((20, 2)), rng.integers(-500, 500, 20) / 4
    numbers = pyarrow.array([Decimal(value) for value in y.tolist()], getattr(pyarrow, kind)(10, 2))
    found, target = read_all(open_table(write(tmp_path / "a.parquet", X, numbers, z=numbers), "y"))
    assert target.dtype == np.float64
    np.testing.assert_array_equal(target, y)
    np.testing.assert_array_equal(found[:, 2], y)


def test_several_files_and_folders(rng, tmp_path, ending):
    X, y = rng.standard_normal((60, 2)), np.arange(60)
    paths = [write(tmp_path / f"part{k}{ending}", X[20 * k : 20 * k + 20], y[20 * k : 20 * k + 20]) for k in range(3)]
    (tmp_path / "README.txt").write_text("not a table")
    for path in (tmp_path, paths):
        found, target = read_all(open_table(path, "y"))
        np.testing.assert_array_equal(found, X)
        np.testing.assert_array_equal(target, y)


def test_memory_mapped_copies(rng, tmp_path, ending):
    X, y = rng.standard_normal((100, 3)), np.arange(100) % 3
    table = open_table(write(tmp_path / f"a{ending}", X, y), "y", batch_rows=30)
    found, target = table.to_npy(tmp_path)
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(target, y)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), y)
    with pytest.raises(FileExistsError, match=r"X\.npy exists already"):
        table.to_npy(tmp_path)


def test_a_failed_copy_leaves_nothing(rng, tmp_path):
    X = rng.standard_normal((100, 2))
    X[70, 1] = np.nan
    table = open_table(write(tmp_path / "a.parquet", X), batch_rows=10)
    with pytest.raises(ValueError, match=r"row 70"):
        table.to_npy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


FULL_DISK = """
import resource, sys
from gramian import open_table
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    open_table(sys.argv[1], "y").to_npy(sys.argv[2])
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of the size of files on Windows")
@pytest.mark.parametrize("reserving", [True, False], ids=["reserved", "written"])
def test_a_file_that_does_not_fit_is_one_error_and_leaves_nothing(rng, tmp_path, reserving):
    path = write(tmp_path / "a.parquet", rng.standard_normal((10_000, 3)), np.arange(10_000))
    (tmp_path / "copy").mkdir()
    script = (
        FULL_DISK if reserving else "import os\nif hasattr(os, 'posix_fallocate'): del os.posix_fallocate" + FULL_DISK
    )
    command = [sys.executable, "-c", script, str(path), str(tmp_path / "copy")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"the copy of the table needs at least 240,128 bytes in {tmp_path / 'copy'}" in done.stdout
    assert os.listdir(tmp_path / "copy") == []


def test_a_full_disk_is_told_before_anything_is_written(rng, tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    table = open_table(write(tmp_path / "a.parquet", rng.standard_normal((100, 2)), np.arange(100)), "y")
    monkeypatch.setattr(os, "posix_fallocate", fail, raising=False)
    with pytest.raises(
        OSError, match=r"needs at least 1,728 bytes in .*: No space left on device\. Make room"
    ) as caught:
        table.to_npy(tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == ["a.parquet"]


def test_targets_are_in_place_before_the_samples(rng, tmp_path, monkeypatch):
    table, replaced, replace = open_table(write(tmp_path / "a.parquet", np.eye(9), np.arange(9)), "y"), [], os.replace

    def note(source, target):
        replaced.append(os.path.basename(target))
        if replaced[-1] == "X.npy":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        replace(source, target)

    monkeypatch.setattr(os, "replace", note)
    with pytest.raises(OSError, match="Input/output error"):
        table.to_npy(tmp_path)
    assert replaced == ["y.npy", "X.npy"]
    assert os.listdir(tmp_path) == ["a.parquet"]


def test_entries_that_are_missing_are_named(rng, tmp_path, ending):
    X = rng.standard_normal((100, 3))
    X[64, 2] = np.nan
    good, bad = write(tmp_path / f"a{ending}", X[:30]), write(tmp_path / f"b{ending}", X)
    table = open_table([good, bad], batch_rows=16)
    with pytest.raises(ValueError, match=rf"b\{ending}: row 64, counted from 0, has nan in column 'x2'\."):
        list(table)
    found, _ = read_all(open_table(bad, allow_missing=True))
    np.testing.assert_array_equal(found, X)


def test_targets_that_are_missing_are_named(rng, tmp_path):
    y = pyarrow.array([None if i == 33 else i for i in range(50)])
    path = write(tmp_path / "a.parquet", rng.standard_normal((50, 2)), y)
    with pytest.raises(ValueError, match=r"a\.parquet: row 33, counted from 0, has no target 'y'"):
        list(open_table(path, "y", batch_rows=10))


def test_other_columns_are_named(rng, tmp_path, ending):
    X = rng.standard_normal((50, 3))
    good, narrow = write(tmp_path / f"a{ending}", X), write(tmp_path / f"b{ending}", X[:, :2])
    with pytest.raises(ValueError, match=rf"b\{ending} has no column 'x2', or several\. Its columns are x0, x1\."):
        open_table([good, narrow])
    with pytest.raises(ValueError, match=r"has no column 'z'"):
        open_table(good, "z")
    words = write(tmp_path / f"c{ending}", X, word=np.array(["a", "b"] * 25))
    with pytest.raises(ValueError, match=r"column 'word' is of type string; expected numbers\. Name the columns"):
        open_table(words)
    np.testing.assert_array_equal(read_all(open_table(words, columns=["x0", "x1", "x2"]))[0], X)


def test_another_dtype_is_named(rng, tmp_path):
    X = rng.standard_normal((50, 3))
    files = [write(tmp_path / "a.parquet", X.astype(np.float32)), write(tmp_path / "b.parquet", X)]
    with pytest.raises(ValueError, match=r"b\.parquet has dtype float64, but .*a\.parquet has float32"):
        open_table(files)


def test_csv_files_that_change_their_mind(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"{i},{i}" for i in range(200_000)]
    path.write_text("a,b\n" + "\n".join(rows) + "\n1.5,2.5\n")
    found, _ = read_all(open_table(path))
    assert found[-1].tolist() == [1.5, 2.5]
    path.write_text("a,b\n" + "\n".join(rows) + "\n1.5,two\n")
    with pytest.raises(ValueError, match=r"a\.csv cannot be read: .*two"):
        list(open_table(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"no table", r"a\.parquet cannot be read"),
        ("a.csv", b"", r"a\.csv cannot be read"),
        ("a.xlsx", b"", r"a\.xlsx has an unknown ending\. Tables end with \.parquet"),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        open_table(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_table(tmp_path / "absent.csv")
    with pytest.raises(FileNotFoundError, match=r"has no files that end with \.parquet"):
        open_table(tmp_path)
    with pytest.raises(ValueError, match="names no file"):
        open_table([])


def test_the_size_of_a_batch(rng, tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", rng.standard_normal((100, 4)))
    assert open_table(path).batch_rows == 65536
    monkeypatch.setattr("gramian.tables.table.BATCH", 32 * 4 * 8)
    assert open_table(path).batch_rows == 32
    assert open_table(path, dtype=np.float32).batch_rows == 64
    assert {len(batch.X) for batch in open_table(path)} <= set(range(1, 33))
    with pytest.raises(ValueError, match="batch_rows=0 is not valid"):
        open_table(path, batch_rows=0)


def test_a_table_without_rows(tmp_path):
    path = write(tmp_path / "a.parquet", np.zeros((0, 2)))
    assert list(open_table(path)) == []
    with pytest.raises(ValueError, match="has no rows"):
        open_table(path).to_npy(tmp_path)


def test_a_text_label_that_is_missing_in_a_csv_file_is_named(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("a,b,label\n1,2,cat\n3,4,\n5,6,dog\n")
    with pytest.raises(ValueError, match=r"row 1, counted from 0, has no target 'label'"):
        list(open_table(path, target="label"))


def test_truth_values_of_a_csv_file_are_numbers(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("a,b\ntrue,2\nfalse,4\n")
    (batch,) = list(open_table(path))
    X = batch[0] if isinstance(batch, tuple) else batch
    np.testing.assert_array_equal(X, [[1.0, 2.0], [0.0, 4.0]])


def test_a_file_of_more_columns_than_the_first_is_refused_by_name(tmp_path):
    for name, header, row in (("a.csv", "x,y", "1,2"), ("b.csv", "x,extra,y", "1,7,2")):
        (tmp_path / name).write_text(f"{header}\n{row}\n")
    with pytest.raises(
        ValueError, match=r"b\.csv has 1 columns that .*a\.csv does not have, the first of them 'extra'"
    ):
        open_table(tmp_path, "y")
    assert [batch.X.tolist() for batch in open_table(tmp_path, "y", columns=["x"])] == [[[1.0]], [[1.0]]]


def test_a_target_that_is_not_finite_is_named(tmp_path):
    pandas, parquet = pytest.importorskip("pandas"), tmp_path / "t.parquet"
    pandas.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0)}).replace({"y": {5.0: np.inf}}).to_parquet(parquet)
    with pytest.raises(ValueError, match=r"t\.parquet: row 5, counted from 0, has the target inf\. Fill or drop it\."):
        open_table(parquet, "y", batch_rows=4).to_npy(tmp_path)
    assert not (tmp_path / "X.npy").exists()


@pytest.mark.parametrize(
    ("columns", "why"), [([], "at least one"), (["x", "x"], "named twice"), (["x", "y"], "target")]
)
def test_columns_to_read_are_names_each_once(columns, why, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match=why):
        open_table(tmp_path / "a.csv", "y", columns=columns)


def test_a_target_of_whole_numbers_in_a_csv_file_may_be_followed_by_others(tmp_path, monkeypatch):
    monkeypatch.setattr("gramian.tables.files.CSV_BLOCK", 512)
    path, large = tmp_path / "a.csv", 2**53 + 1
    lines = [f"{i},{large + i}" for i in range(200)]
    path.write_text("a,y\n" + "\n".join(lines) + "\n")
    _, y = read_all(open_table(path, "y"))
    assert (y.dtype, y.tolist()) == (np.int64, [large + i for i in range(200)])
    lines = [f"{i}, {i} " for i in range(200)]
    path.write_text("a,y\n" + "\n".join(lines) + "\n1,2.5\n")
    assert read_all(open_table(path, "y"))[1].tolist() == [*range(200), 2.5]
    assert open_table(path, "y").to_npy(tmp_path).y[-1] == 2.5
    path.write_text("a,y\n" + "\n".join(lines) + "\n1,two\n")
    with pytest.raises(ValueError, match=r"a\.csv cannot be read: column 'y' begins with numbers, .*two"):
        list(open_table(path, "y"))
    path.write_text("a,y\n" + "\n".join(lines) + "\n1,\n")
    with pytest.raises(ValueError, match=r"row 200, counted from 0, has no target 'y'"):
        list(open_table(path, "y"))


def test_quoted_cells_of_a_csv_file_may_have_line_breaks(tmp_path, monkeypatch):
    monkeypatch.setattr("gramian.tables.files.CSV_BLOCK", 512)
    path = tmp_path / "a.csv"
    path.write_text("a,note,y\n" + "".join(f'{i},"one\n{"x" * (i % 40)}\nthree",{i}\n' for i in range(90)))
    assert read_all(open_table(path, "y", columns=["a"]))[1].tolist() == list(range(90))


def test_a_column_of_a_csv_file_may_begin_with_missing_entries(tmp_path):
    path, n = tmp_path / "a.csv", 200_000
    path.write_text("a,b\n" + "".join(f"{i},\n" for i in range(n)) + "1,2.5\n")
    found, _ = read_all(open_table(path, allow_missing=True))
    assert np.isnan(found[:n, 1]).all()
    assert found[-1].tolist() == [1.0, 2.5]
    with pytest.raises(ValueError, match=r"row 0, counted from 0, has nan in column 'b'"):
        list(open_table(path))


def test_files_of_two_dtypes_are_one_table_if_the_dtype_is_given_or_one_is_text(rng, tmp_path):
    X = rng.standard_normal((5, 2)).astype(np.float32)
    single, double = write(tmp_path / "a.parquet", X), write(tmp_path / "b.parquet", X.astype(float))
    words = write(tmp_path / "c.csv", X.astype(float))
    for files, dtype in (([single, double], "float64"), ([single, words], None), ([words, single], None)):
        read = read_all(open_table(files, dtype=dtype))[0]
        np.testing.assert_array_equal(read, np.concatenate([X, X]))
        assert read.dtype == np.float64


def test_a_number_beyond_float32_is_told_as_such(tmp_path, ending):
    path = write(tmp_path / f"a{ending}", np.array([[1.0], [1e300]]))
    with pytest.raises(ValueError, match=r"row 1, .* infinite, or beyond the range of float32, in column 'x0'") as told:
        list(open_table(path, dtype="float32"))
    assert "allow_missing" not in str(told.value)
    assert read_all(open_table(path))[0][1, 0] == 1e300
