"""Data sets: where they are searched for, what is returned, and the errors for missing ones."""

import io
import os
import sys
from dataclasses import replace
from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from gramian import datasets
from gramian.datasets import catalogue, download, store

SIZES = {
    "gyrb": (52, 52, 3),
    "digits_389": (300, 16, 3),
    "wine": (178, 13, 3),
    "ionosphere": (351, 33, 2),
    "balance_scale": (625, 4, 3),
    "iris": (150, 4, 3),
    "soybean": (532, 35, 15),
    "usps": (9298, 256, 10),
    "isolet": (7797, 617, 26),
    "arcene": (200, 10000, 2),
    "gordon_lung": (181, 12533, 2),
    "breast_cancer": (569, 30, 2),
    "colon": (62, 2000, 2),
    "digits": (1797, 64, 10),
    "mnist": (70000, 784, 10),
    "newsgroups20": (18846, 130108, 20),
    "optdigits": (5620, 64, 10),
    "pendigits": (10992, 16, 10),
    "yaleb": (2414, 1024, 38),
    "sonar": (208, 60, 2),
    "movement_libras": (360, 90, 15),
    "winequality_red": (1599, 11, 6),
    "page_blocks": (5472, 10, 5),
    "phoneme": (5404, 5, 2),
    "pima": (768, 8, 2),
    "newthyroid": (215, 5, 3),
    "monk_2": (432, 6, 2),
    "spambase": (4597, 57, 2),
}
TESTS = {"usps": 2007, "isolet": 1559, "arcene": 100, "mnist": 10000, "newsgroups20": 7532}
TESTS |= {"optdigits": 1797, "pendigits": 3498}


def needs(name):
    return pytest.mark.skipif(
        not datasets.is_available(name), reason=f"the file of {name} is neither in GRAMIAN_DATA nor in the cache"
    )


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """No data folder, an empty cache, and no network."""
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    monkeypatch.delenv("GRAMIAN_OFFLINE")
    monkeypatch.setenv("GRAMIAN_CACHE", str(tmp_path / "cache"))

    def unreachable(**_):
        raise URLError("no route to host")

    monkeypatch.setattr(download, "fetch_openml", unreachable)
    return tmp_path / "cache"


@pytest.fixture
def balance_openml(no_data, monkeypatch):
    """Replace OpenML by a function that serves the balance scale data; `requests` records its calls."""
    requests = []
    sides = np.array(np.meshgrid(*[np.arange(1, 6)] * 4, indexing="ij"), dtype=float).reshape(4, -1).T
    tilt = np.sign(sides[:, 2] * sides[:, 3] - sides[:, 0] * sides[:, 1]).astype(int)

    def fetch(**request):
        requests.append(request)
        return Bunch(data=sides, target=np.array(["L", "B", "R"])[tilt + 1], feature_names=["a", "b", "c", "d"])

    monkeypatch.setattr(download, "fetch_openml", fetch)
    return Bunch(requests=requests, X=sides, y=tilt + 1)


def write_npz(path, **arrays):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)


def test_every_name_has_a_size_here():
    assert set(datasets.names()) == set(SIZES)


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in SIZES])
def test_sizes_labels_and_splits(name):
    dataset = datasets.load(name, dtype=np.float32)
    n, d, classes = SIZES[name]
    assert dataset.name == name
    assert dataset.X.shape == (n, d)
    assert dataset.X.dtype == np.float32
    np.testing.assert_array_equal(np.unique(dataset.y), np.arange(classes))
    assert len(dataset.target_names) in (0, classes)
    assert len(dataset.feature_names) in (0, d)
    assert (0 if dataset.test is None else dataset.test.sum()) == TESTS.get(name, 0)
    values = dataset.X.data if scipy.sparse.issparse(dataset.X) else dataset.X
    assert np.isfinite(values).all()


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in TESTS])
def test_files_have_the_test_counts_of_the_catalogue(name):
    counts = catalogue.CATALOGUE[name].test_counts
    dataset = datasets.load(name, dtype=np.float32)
    assert dataset.test[-TESTS[name] :].all()
    if counts:
        assert np.bincount(dataset.y[dataset.test]).tolist() == list(counts)


@needs("pendigits")
def test_split_keeps_every_sample():
    dataset = datasets.load("pendigits")
    X_train, X_test, y_train, y_test = dataset.split()
    np.testing.assert_array_equal(np.concatenate([X_train, X_test]), dataset.X)
    np.testing.assert_array_equal(np.concatenate([y_train, y_test]), dataset.y)
    assert (len(X_train), len(y_test)) == (7494, 3498)


def test_split_without_a_standard_split_raises():
    with pytest.raises(ValueError, match=r"'iris' has no standard split\. Draw one"):
        datasets.load("iris").split()


@needs("ionosphere")
def test_ionosphere_drops_its_constant_column():
    raw, prepared = datasets.load("ionosphere", raw=True), datasets.load("ionosphere")
    assert np.ptp(raw.X[:, 1]) == 0
    np.testing.assert_array_equal(prepared.X, np.delete(raw.X, 1, axis=1))
    assert raw.feature_names[1] not in prepared.feature_names


@needs("soybean")
def test_soybean_keeps_complete_rows_once():
    raw, prepared = datasets.load("soybean", raw=True), datasets.load("soybean")
    assert raw.X.shape == (683, 35)
    assert np.isnan(raw.X).any(axis=1).sum() == 121
    rows = {(*x, raw.target_names[k]) for x, k in zip(raw.X.tolist(), raw.y, strict=True) if not np.isnan(x).any()}
    kept = [(*x, prepared.target_names[k]) for x, k in zip(prepared.X.tolist(), prepared.y, strict=True)]
    assert len(kept) == len(rows) == 532
    assert set(kept) == rows


@pytest.mark.parametrize(
    ("name", "back"),
    [
        pytest.param("colon", np.exp, marks=needs("colon")),
        pytest.param("gordon_lung", lambda X: 50 * np.sinh(X), marks=needs("gordon_lung")),
    ],
)
def test_intensities_are_transformed_unless_raw(name, back):
    raw = datasets.load(name, raw=True).X
    np.testing.assert_allclose(back(datasets.load(name).X), raw, rtol=1e-9, atol=1e-9)


@needs("pendigits")
def test_digits_389_depend_on_the_seed_only():
    default, again, other = datasets.load("digits_389"), datasets.digits_389(), datasets.digits_389(random_state=1)
    np.testing.assert_array_equal(default.X, again.X)
    assert (default.X != other.X).any()
    assert default.target_names == ("3", "8", "9")
    pendigits = datasets.load("pendigits")
    known = {(*x, k) for x, k in zip(pendigits.X.tolist(), pendigits.y.tolist(), strict=True)}
    assert {(*x, (3, 8, 9)[k]) for x, k in zip(default.X.tolist(), default.y, strict=True)} <= known
    assert np.bincount(datasets.digits_389(20).y).tolist() == [20, 20, 20]
    with pytest.raises(ValueError, match="per_class=1056 exceeds the 1055 samples of class 3"):
        datasets.digits_389(1056)


def count_correct_neighbours(K, y):
    """Return the number of samples that their 5 nearest neighbours classify correctly, by the distances of a kernel."""
    squared = np.diag(K)[:, None] + np.diag(K) - 2 * K
    np.fill_diagonal(squared, np.inf)
    votes = y[np.argsort(squared, axis=1)[:, :5]]
    return sum(np.bincount(row).argmax() == label for row, label in zip(votes, y, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_the_synthetic_kernel_has_overlapping_groups(seed):
    kernel = datasets.gyrb(seed)
    assert np.bincount(kernel.y).tolist() == [10, 31, 11]
    np.testing.assert_array_equal(kernel.X, kernel.X.T)
    np.testing.assert_allclose(np.diag(kernel.X), 1)
    assert np.linalg.eigvalsh(kernel.X)[0] > 0
    assert 42 <= count_correct_neighbours(kernel.X, kernel.y) < 52


def test_the_synthetic_kernel_depends_on_the_seed_only():
    np.testing.assert_array_equal(datasets.gyrb(3).X, datasets.gyrb(3).X)
    np.testing.assert_array_equal(datasets.load("gyrb").X, datasets.gyrb(0).X)
    assert (datasets.gyrb(0).X != datasets.gyrb(1).X).any()
    assert "stand-in" in datasets.gyrb().description


@pytest.mark.parametrize("draw", [datasets.gyrb, pytest.param(datasets.digits_389, marks=needs("pendigits"))])
def test_a_generator_can_be_the_random_state(draw):
    first, again = (draw(random_state=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first.X, again.X)
    rng = np.random.default_rng(5)
    draw(random_state=rng)
    # A second draw continues the generator's sequence.
    assert (draw(random_state=rng).X != first.X).any()


def test_seeds_draw_the_same_kernel_in_every_version():
    np.testing.assert_allclose(
        datasets.gyrb(0).X[0, 1:4], [0.46793145764463645, 0.7382341739668485, 0.3524596329829365], rtol=1e-12
    )


def test_sets_of_scikit_learn_need_no_file(no_data):
    dataset = datasets.load("digits")
    assert datasets.is_available("digits")
    np.testing.assert_array_equal(dataset.X, load_digits().data)


@pytest.mark.parametrize("name", ["Breast Cancer", "breast-cancer", " breast_cancer "])
def test_spaces_hyphens_and_capitals_in_names_do_not_matter(name):
    assert datasets.load(name).name == "breast_cancer"


def test_unknown_names_get_a_suggestion():
    with pytest.raises(
        ValueError, match=r"name='pendigit' is unknown\. Did you mean 'pendigits'\? Choose one of arcene"
    ):
        datasets.load("pendigit")
    with pytest.raises(ValueError, match=r"name='xyzzy' is unknown\. Choose one of"):
        datasets.is_available("xyzzy")
    with pytest.raises(ValueError, match=r"name='prostate': .* 'arcene' .* 'gordon_lung'"):
        datasets.load("prostate")


@pytest.mark.parametrize(
    ("dtype", "message"), [(int, "<class 'int'>"), ("abc", "'abc'"), (5, "5"), ({"a": 1}, "{'a': 1}")]
)
def test_invalid_dtypes_are_refused(dtype, message):
    with pytest.raises(ValueError, match=rf"dtype={message} is not valid\. Choose np\.float64 or np\.float32"):
        datasets.load("iris", dtype=dtype)


def test_a_failed_download_says_which_file_to_put_where(no_data):
    assert not datasets.is_available("usps")
    with pytest.raises(FileNotFoundError) as raised:
        datasets.load("usps")
    message = str(raised.value)
    assert "OpenML's USPS (id 41082) could not be downloaded: <urlopen error no route to host>" in message
    assert "Put usps.npz into the folder named by GRAMIAN_DATA (which is not set)" in message
    assert str(no_data) in message
    assert "data (9298 x 256" in message
    assert "target (integers 0 .. 9)" in message


def test_sets_that_are_not_on_openml_and_download_false(no_data, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(FileNotFoundError, match=r"colon has no local file, and it is not on OpenML.*elsewhere"):
        datasets.load("colon")
    with pytest.raises(
        FileNotFoundError, match=r"pendigits has no local file, and download=False\. Put pendigits\.npz"
    ):
        datasets.load("digits_389", download=False)


def test_the_environment_can_forbid_downloads(no_data, monkeypatch):
    monkeypatch.setenv("GRAMIAN_OFFLINE", "1")
    with pytest.raises(FileNotFoundError, match=r"usps has no local file, and GRAMIAN_OFFLINE is set\. Put usps\.npz"):
        datasets.load("usps")


def test_a_download_is_stored_in_the_cache(balance_openml, no_data, monkeypatch):
    first = datasets.load("balance_scale")
    assert balance_openml.requests == [{"data_id": 11, "as_frame": False, "parser": "liac-arff", "cache": False}]
    assert datasets.is_available("balance_scale")
    again = datasets.load("balance_scale")
    assert len(balance_openml.requests) == 1
    for dataset in (first, again):
        np.testing.assert_array_equal(dataset.X, balance_openml.X)
        np.testing.assert_array_equal(dataset.y, balance_openml.y)
        assert dataset.target_names == ("L", "B", "R")
        assert dataset.feature_names == ("a", "b", "c", "d")
    assert [path.name for path in no_data.iterdir()] == ["balance_scale.npz"]
    with np.load(no_data / "balance_scale.npz", allow_pickle=False) as file:
        assert file["data"].dtype == np.uint8


def test_the_data_folder_comes_before_the_cache(balance_openml, tmp_path, monkeypatch):
    write_npz(tmp_path / "own" / "balance_scale.npz", data=balance_openml.X + 1, target=balance_openml.y)
    datasets.load("balance_scale")
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path / "own"))
    np.testing.assert_array_equal(datasets.load("balance_scale").X, balance_openml.X + 1)


def test_a_cache_that_cannot_be_written_is_only_a_warning(balance_openml, no_data):
    no_data.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match=r"downloaded but cannot be stored.*GRAMIAN_CACHE"):
        dataset = datasets.load("balance_scale")
    np.testing.assert_array_equal(dataset.X, balance_openml.X)


def test_a_download_of_another_size_is_refused(balance_openml, no_data, monkeypatch):
    half = Bunch(data=balance_openml.X[:300], target=np.array(["L", "B", "R"])[balance_openml.y[:300]])
    monkeypatch.setattr(download, "fetch_openml", lambda **_: half)
    with pytest.raises(FileNotFoundError, match="holds 300 x 4 in 3 classes and 300 labels; expected 625 x 4 in 3"):
        datasets.load("balance_scale")
    assert not no_data.exists()


WHOLE = {"data": np.ones((625, 4)), "target": np.arange(625) % 3}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be used"),
        (b"not a zip file at all", "cannot be used"),
        ("truncated", "cannot be used"),
        ({"data": np.ones((625, 4))}, "it has no key target"),
        ({"data": np.ones((3, 4)), "target": np.arange(3)}, "it holds 3 x 4 in 3 classes and 3 labels; expected 625"),
        ({"data": np.ones((625, 4)), "target": 1 + np.arange(625) % 3}, r"its labels are 1 \.\. 3; expected 0 \.\. 2"),
        ({"data": np.ones((625, 4)), "target": np.array([None] * 625)}, "cannot be used"),
        (
            WHOLE | {"test_mask": np.arange(625) % 2},
            r"its test_mask is int64 of shape \(625,\); expected bool of shape",
        ),
        (WHOLE | {"test_mask": np.ones(624, bool)}, r"its test_mask is bool of shape \(624,\); expected bool of shape"),
        (WHOLE | {"data": np.full((625, 4), "1")}, "its data is of type <U1; expected numbers"),
        (WHOLE | {"data": np.float64(1)}, "expected 625 x 4"),
        (WHOLE | {"data": np.full((625, 4), np.nan)}, "2500 of its values are NaN or infinite"),
        (WHOLE | {"data": np.full((625, 4), np.inf)}, "2500 of its values are NaN or infinite"),
    ],
    ids=[
        *("empty", "text", "truncated", "keys", "size", "labels", "pickles"),
        *("mask of integers", "short mask", "words", "scalar", "missing", "infinite"),
    ],
)
def test_damaged_files_are_reported(content, message, no_data):
    path = no_data / "balance_scale.npz"
    whole = io.BytesIO()
    np.savez_compressed(whole, **(content if isinstance(content, dict) else {"data": np.ones((625, 4))}))
    cut = whole.getvalue() if isinstance(content, dict) else whole.getvalue()[:100]
    no_data.mkdir()
    path.write_bytes(content if isinstance(content, bytes) else cut)
    with pytest.raises(ValueError, match=message) as raised:
        datasets.load("balance_scale")
    assert str(path) in str(raised.value)
    assert "Delete it and load again" in str(raised.value)


@pytest.mark.parametrize(("value", "allowed"), [(np.nan, True), (np.inf, False)])
def test_values_may_be_missing_where_the_catalogue_says_so(value, allowed, no_data):
    X = np.ones((683, 35))
    X[5, 7] = value
    write_npz(no_data / "soybean.npz", data=X, target=np.arange(683) % 19)
    if allowed:
        np.testing.assert_array_equal(datasets.load("soybean", raw=True).X, X)
    else:
        with pytest.raises(ValueError, match=r"soybean\.npz cannot be used: 1 of its values are infinite"):
            datasets.load("soybean", raw=True)


def test_sparse_files_stay_sparse(no_data, monkeypatch):
    X = scipy.sparse.csr_array(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3], [0, 4, 0]], dtype=np.uint16))
    parts = {"csr_data": X.data, "csr_indices": X.indices, "csr_indptr": X.indptr, "csr_shape": np.array(X.shape)}
    words = np.frombuffer(b"un\ndeux\ntrois\n", dtype=np.uint8)
    test = np.array([False, False, True, True])
    path = no_data / "newsgroups20.npz"
    write_npz(path, **parts, target=np.array([0, 1, 0, 1]), test_mask=test, vocabulary_utf8=words)
    small = replace(catalogue.CATALOGUE["newsgroups20"], size=(4, 3, 2))
    monkeypatch.setitem(catalogue.CATALOGUE, "newsgroups20", small)
    dataset = datasets.load("newsgroups20")
    assert repr(dataset) == "Dataset('newsgroups20': 4 x 3, sparse float64, 2 classes, 2 test samples)"
    assert dataset.feature_names == ("un", "deux", "trois")
    np.testing.assert_array_equal(dataset.split()[1].toarray(), [[0, 0, 3], [0, 4, 0]])


def test_a_failed_write_leaves_no_partial_file(tmp_path, monkeypatch):
    path = tmp_path / "set.npz"
    store.write(path, {"data": np.ones(3)})
    with pytest.raises(ValueError, match="data holds objects"):
        store.write(path, {"data": np.array([None])})

    def full(part, **_):
        part.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space left"):
        store.write(path, {"data": np.zeros(3)})
    assert [p.name for p in tmp_path.iterdir()] == ["set.npz"]
    with np.load(path) as file:
        np.testing.assert_array_equal(file["data"], np.ones(3))


def test_only_arrays_are_written(tmp_path, monkeypatch):
    # Older versions of NumPy would store a keyword such as allow_pickle as one more array.
    given = []
    monkeypatch.setattr(np, "savez_compressed", lambda file, *args, **arrays: given.append(arrays))
    store.write(tmp_path / "set.npz", {"data": np.ones(3)})
    assert [list(arrays) for arrays in given] == [["data"]]


@pytest.mark.parametrize(
    ("labels", "order", "integers", "names"),
    [
        (["b", "g", "b"], (), [0, 1, 0], ["b", "g"]),
        (["10", "2", "1"], (), [2, 1, 0], ["1", "2", "10"]),
        (["'2'", "'1'"], (), [1, 0], ["1", "2"]),
        ([3.0, 1.0], (), [1, 0], ["1.0", "3.0"]),
        (["R", "B", "L"], ("L", "B", "R"), [2, 1, 0], ["L", "B", "R"]),
    ],
)
def test_labels_are_encoded_in_order(labels, order, integers, names):
    encoded, classes = download.encode_labels(np.array(labels), order)
    assert encoded.tolist() == integers
    assert classes.tolist() == names


def test_unknown_labels_are_reported():
    with pytest.raises(ValueError, match="OpenML's label 'X' is none of L, B, R"):
        download.encode_labels(np.array(["L", "X"]), ("L", "B", "R"))


@pytest.mark.parametrize(("counts", "kept"), [((1, 1), True), ((2, 0), False), ((), False)])
def test_a_downloaded_test_set_must_have_its_class_counts(counts, kept, monkeypatch):
    downloaded = Bunch(data=np.arange(8.0).reshape(4, 2), target=np.array(["a", "a", "a", "b"]))
    monkeypatch.setattr(download, "fetch_openml", lambda **_: downloaded)
    arrays = download.fetch_arrays(1, test_counts=counts)
    assert ("test_mask" in arrays) is kept
    if kept:
        assert arrays["test_mask"].tolist() == [False, False, True, True]


def test_downloads_have_small_dtypes_and_the_known_range(monkeypatch):
    assert download.shrink_dtype(np.array([[0.0, 300.0]])).dtype == np.uint16
    assert download.shrink_dtype(np.array([[0.0, -1.0]])).dtype == np.float32
    assert download.shrink_dtype(np.array([[0.0, np.nan]])).dtype == np.float32
    downloaded = Bunch(data=np.array([[0.0, 1.0], [2.0, 0.5]]), target=np.array(["a", "b"]))
    monkeypatch.setattr(download, "fetch_openml", lambda **_: downloaded)
    np.testing.assert_array_equal(download.fetch_arrays(1, span=(-1.0, 1.0))["data"], [[-1, 0], [1, -0.5]])


@pytest.mark.parametrize(("platform", "variable"), [("linux", "XDG_CACHE_HOME"), ("win32", "LOCALAPPDATA")])
def test_the_cache_follows_the_platform(platform, variable, tmp_path, monkeypatch):
    monkeypatch.delenv("GRAMIAN_CACHE", raising=False)
    monkeypatch.setattr(store.sys, "platform", platform)
    monkeypatch.setenv(variable, str(tmp_path))
    assert datasets.cache_folder() == tmp_path / "gramian"


def test_the_table_lists_every_set():
    table = datasets.describe()
    assert len(table.splitlines()) == 1 + len(SIZES)
    assert "41082" in table
    assert "arcsinh" in datasets.describe("gordon_lung")


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_others_may_read_what_is_stored(tmp_path):
    before = os.umask(0o022)
    try:
        store.write(tmp_path / "cache" / "a.npz", {"data": np.eye(2)})
    finally:
        os.umask(before)
    assert (tmp_path / "cache" / "a.npz").stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path / "cache") == ["a.npz"]


def test_a_file_that_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    def refuse(path, *arguments):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(store, "read_arrays", refuse)
    path = tmp_path / "a.npz"
    path.write_bytes(b"")
    with pytest.raises(PermissionError, match=r"a\.npz"):
        store.read(path, (2, 2, 2))
