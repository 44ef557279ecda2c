"""Mutated and hostile model files are refused, or load as they were; none runs anything."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from sklearn.preprocessing import StandardScaler

import gramian
from gramian import PSDRegressor
from gramian.files import FileError
from gramian.files.archive import HEADER, SCHEMA, pack, unpack
from gramian.files.consistency import check_shapes
from gramian.files.storage import to_bytes
from gramian.geometries import Polar
from gramian.losses import Huber
from gramian.solvers import Armijo, GradientDescent
from harness import model_files
from harness.hostile_models import PROOF

from file_models import fitted

CASES = 300


def test_mutated_files_are_refused_or_load_as_they_were_and_hostile_ones_are_refused():
    """In a process of limited memory; `python -m harness.model_files` runs many more."""
    counts = model_files.soak(CASES, 20, hostile=True)
    assert set(counts) <= {"refused", "loaded", "other"}, counts
    assert counts.total() >= CASES + 300
    assert counts["refused"] > 300 + CASES / 2
    assert counts["loaded"] > 0
    assert not Path(PROOF).exists()


def test_the_watch_sees_what_a_load_must_not_do(tmp_path):
    """Run in a process of its own: an audit hook stays for ever."""
    script = """
import os, pickle, subprocess, sys
from pathlib import Path
from harness.watch import Watch
watch = Watch()
def act(number, folder):
    match number:
        case 0: os.system("true")
        case 1: open(folder / "x", "w").close()
        case 2: exec("1 + 1")
        case 3: pickle.loads(pickle.dumps(os.getcwd))
        case 4: subprocess.run(["true"])
        case 5: open("/etc/passwd").close()
        case 6: pass
for number in range(7):
    with watch.during_load_of(Path("model")):
        act(number, Path(sys.argv[1]))
    print(number, bool(watch.seen()))
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "0",
        "True",
        "1",
        "True",
        "2",
        "True",
        "3",
        "True",
        "4",
        "True",
        "5",
        "True",
        "6",
        "False",
    ]


def changed(member, **values):
    """The file of a model whose header has other values."""
    members = unpack(to_bytes(fitted("metric, labels")))
    stored = json.loads(members[member])
    stored.update(values)
    return pack({**members, member: json.dumps(stored).encode()})


def test_a_newer_format_says_so(tmp_path):
    path = tmp_path / "model"
    versions = {"gramian": "7.0", "numpy": "9"}
    path.write_bytes(changed(HEADER, format_version=2, versions=versions))
    message = "it has format 2, of gramian 7.0; gramian .* reads formats up to 1. Upgrade gramian"
    with pytest.raises(FileError, match=message):
        gramian.load(path)
    with pytest.raises(FileError, match=message):
        gramian.files.read_header(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-be"])
def test_a_header_in_another_encoding_is_refused(encoding, tmp_path):
    members = unpack(to_bytes(fitted("metric, labels")))
    (tmp_path / "model").write_bytes(pack({**members, HEADER: members[HEADER].decode().encode(encoding)}))
    for read in (gramian.load, gramian.files.read_header):
        with pytest.raises(FileError, match="model cannot be loaded"):
            read(tmp_path / "model")


def test_an_earlier_version_lacks_settings_that_get_their_defaults(tmp_path):
    members = unpack(to_bytes(fitted("metric, labels")))
    schema = json.loads(members[SCHEMA])
    attributes = schema["content"]
    del attributes["content"]["verbose"]
    attributes["key_types"]["content"].pop()
    (tmp_path / "model").write_bytes(pack(model_files.seal({**members, SCHEMA: json.dumps(schema).encode()})))
    assert gramian.load(tmp_path / "model").verbose == 0


def without(node, *names):
    """The node of a part, less some of its settings."""
    for name in names:
        position = list(node["content"]["content"]).index(name)
        del node["content"]["content"][name]
        del node["content"]["key_types"]["content"][position]


def test_parts_of_an_earlier_version_have_the_defaults_of_settings_that_they_lack(tmp_path):
    model = PSDRegressor(2, geometry=Polar(weight=0.3), solver=GradientDescent(Armijo(decrease=0.3)), loss=Huber(0.5))
    members = unpack(to_bytes(model))
    schema = json.loads(members[SCHEMA])
    parts = schema["content"]["content"]
    search = parts["solver"]["content"]["content"]["search"]
    without(parts["geometry"], "weight")
    without(search, "decrease")
    path = tmp_path / "model"
    path.write_bytes(pack(model_files.seal({**members, SCHEMA: json.dumps(schema).encode()})))
    loaded = gramian.load(path)
    assert vars(loaded.geometry) == vars(Polar())
    assert loaded.solver == GradientDescent(Armijo())
    assert loaded.loss == Huber(0.5)
    # One whose default is made anew.
    without(parts["solver"], "search")
    path.write_bytes(pack(model_files.seal({**members, SCHEMA: json.dumps(schema).encode()})))
    assert gramian.load(path).solver == GradientDescent()


def test_named_tuples_of_an_earlier_version_have_the_defaults_of_fields_that_they_lack(tmp_path):
    members = unpack(to_bytes(fitted("metric, kept pairs")))
    schema = json.loads(members[SCHEMA])
    kept = schema["content"]["content"]["kept_tuples_"]["content"]["pairs"]
    assert kept["__class__"] == "TupleChunk"
    del kept["content"][-1:]
    (tmp_path / "model").write_bytes(pack(model_files.seal({**members, SCHEMA: json.dumps(schema).encode()})))
    chunk = gramian.load(tmp_path / "model").kept_tuples_["pairs"]
    assert chunk.sense is None
    assert chunk.y is not None


def test_damage_names_the_file_and_the_versions(tmp_path):
    path = tmp_path / "model"
    content = bytearray(to_bytes(fitted("metric, labels")))
    with zipfile.ZipFile(path, "w"):
        pass
    with pytest.raises(FileError, match=r"model cannot be loaded: it has no gramian\.json\. It is damaged"):
        gramian.load(path)
    at = content.find(b"__loader__")
    content[at] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(FileError, match="Bad CRC-32"):
        gramian.load(path)
    members = unpack(to_bytes(fitted("metric, labels")))
    path.write_bytes(pack({**members, SCHEMA: members[SCHEMA] + b" "}))
    with pytest.raises(FileError, match=r"schema\.json has changed since it was written\. It was written by gramian"):
        gramian.load(path)


def test_a_file_of_skops_alone_is_refused(tmp_path):
    import skops.io

    skops.io.dump(gramian.MetricLearner(), tmp_path / "model")
    with pytest.raises(FileError, match=r"which gramian\.save does not write|it has no gramian\.json"):
        gramian.load(tmp_path / "model")


def test_a_file_of_ours_is_one_of_skops_too(tmp_path):
    import skops.io

    gramian.save(fitted("pipeline"), tmp_path / "model")
    unknown = skops.io.get_untrusted_types(file=tmp_path / "model")
    assert all(name.startswith(("gramian.", "numpy.")) for name in unknown)
    assert repr(skops.io.load(tmp_path / "model", trusted=unknown)) == repr(fitted("pipeline"))


def test_a_file_cannot_control_the_terminal(tmp_path):
    path = tmp_path / "model"
    versions = {"gramian": "\x1b[2J\x07", "numpy": "9"}
    path.write_bytes(changed(HEADER, format_version=2, versions=versions))
    with pytest.raises(FileError, match="it has format 2") as caught:
        gramian.load(path)
    assert str(caught.value).isprintable()


def test_a_pipe_does_not_wait(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for read in (gramian.load, gramian.files.read_header):
        with pytest.raises(FileError, match="not a regular file"):
            read(tmp_path / "pipe")


def test_a_part_in_place_of_a_number_is_told_by_its_type_alone():
    # Its text would be made by code of scikit-learn that is imported for that.
    scaler = StandardScaler()
    scaler.n_features_in_ = StandardScaler()
    with pytest.raises(ValueError, match=r"^StandardScaler has n_features_in_ of type StandardScaler$"):
        check_shapes(scaler)
    scaler.n_features_in_ = 0
    with pytest.raises(ValueError, match=r"^StandardScaler has n_features_in_ 0$"):
        check_shapes(scaler)
