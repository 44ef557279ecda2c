"""Mutated and hostile model files: loads, counted by how they end.

    python -m harness.model_files --cases 10000 --seed 0     # mutated files
    python -m harness.model_files --hostile                  # files made to do harm

A load of a mutated file ends in one of three ways: `refused`, by a `FileError` that names the file; `loaded`, and then
every array is what it was to the last bit; or a fault. A *sealed* mutation also writes anew the digests that would
betray it, as an attacker would. It may end as `other`: another model that is built of known parts only, whose methods
return or raise. A hostile file must be refused. It is a fault, too, if a load runs or imports something, opens another
file, or needs much memory: an audit hook watches, and the process has little memory.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import resource
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian
from gramian.files.archive import HEADER, SCHEMA, unpack
from gramian.files.consistency import walk
from gramian.files.storage import to_bytes
from harness.mutations import EXTREMES, HEADERS, Generator, damage_bytes, run_apart, to_npy, to_zip
from harness.watch import Watch

__all__ = ["KINDS", "MEMORY", "examples", "mutate", "run", "run_hostile", "seal", "soak"]

CHUNK = 2500
# What a load may reserve beyond what the process has when it starts.
MEMORY = 1 << 30
FOREIGN = [
    *("os.system", "builtins.eval", "builtins.exec", "subprocess.Popen", "builtins.open", "importlib.import_module"),
    *(
        "numpy.memmap",
        "numpy.load",
        "numpy.fromfile",
        "gramian.demo.main",
        "gramian.datasets.load",
        "sklearn.svm._classes.SVC",
    ),
    *(
        "builtins.str",
        "builtins.dict",
        "builtins.list",
        "builtins.tuple",
        "numpy.ndarray",
        "numpy.float64",
        "pickle.loads",
    ),
    *("gramian.estimators.metric.MetricLearner", "gramian.estimators._choice.Choice", "sklearn.tree._tree.Tree"),
]
LOADERS = [
    *(
        "DictNode",
        "ListNode",
        "SetNode",
        "TupleNode",
        "ObjectNode",
        "JsonNode",
        "TypeNode",
        "FunctionNode",
        "NdArrayNode",
    ),
    *(
        "MethodNode",
        "PartialNode",
        "OperatorFuncNode",
        "ConstructorFromReduceNode",
        "ReduceNode",
        "TreeNode",
        "LossNode",
    ),
    *(
        "BytesNode",
        "SliceNode",
        "DTypeNode",
        "RandomStateNode",
        "RandomGeneratorNode",
        "CachedNode",
        "SparseMatrixNode",
    ),
]


@cache
def samples() -> tuple[Any, Any]:
    """Return samples (30, 4) of three classes, and their labels."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    return rng.standard_normal((30, 4)) + y[:, None], y


@cache
def examples() -> dict[str, Any]:
    """Return models whose files have all kinds of parts."""
    X, y = samples()
    rows = scipy.sparse.csr_matrix(np.where(X > 0, X, 0))
    learner = gramian.MetricLearner(2, constraints="triplets", random_state=np.random.RandomState(0))
    words = ["a cat", "the dog", "one bird"] * 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "metric": learner.fit(X, y),
            "pipeline": make_pipeline(StandardScaler(), learner, KNeighborsClassifier(3)).fit(X, y),
            "kernel": gramian.KernelLearner(2, random_state=np.random.default_rng(0)).fit(rows, y),
            "subspace": gramian.SubspaceTracker(2, random_state=0).partial_fit(X),
            "words": make_pipeline(TfidfVectorizer(), KNeighborsClassifier(2)).fit(words, y),
        }


@cache
def members_of(name: str) -> dict[str, bytes]:
    """Return the members of the file of an example."""
    return unpack(to_bytes(examples()[name]))


def seal(members: dict[str, bytes]) -> dict[str, bytes]:
    """Return members whose header has the digests of the others, as an attacker would write it."""
    header = json.loads(members[HEADER])
    header["digests"] = {name: hashlib.sha256(part).hexdigest() for name, part in members.items() if name != HEADER}
    return {**members, HEADER: json.dumps(header).encode()}


def pick(rng: Generator, items: Iterable[Any]) -> Any:
    """Return one of the items."""
    items = list(items)
    return items[rng.integers(len(items))]


def stored(members: dict[str, bytes]) -> bytes:
    """Return an archive of members, uncompressed."""
    return to_zip(members.items(), zipfile.ZIP_STORED)


def spoil_file(rng: Generator, members: dict[str, bytes]) -> bytes:
    """Change the bytes of the file."""
    content = stored(members)
    for _ in range(rng.integers(1, 4)):
        content = damage_bytes(rng, content)
    return content


def spoil_member(rng: Generator, members: dict[str, bytes]) -> bytes:
    """Change the bytes of a member, under a valid checksum."""
    name = pick(rng, members)
    return stored({**members, name: damage_bytes(rng, members[name])})


def spoil_names(rng: Generator, members: dict[str, bytes]) -> bytes:
    """Lose, rename, repeat or exchange members, or compress them."""
    name, other = pick(rng, members), pick(rng, members)
    pairs = list(members.items())
    match rng.integers(5):
        case 0:
            return to_zip((pair for pair in pairs if pair[0] != name), zipfile.ZIP_STORED)
        case 1:
            new = pick(rng, [f"../{name}", f"/{name}", name.upper(), "x.pkl", "0.bin", other])
            return to_zip(((new if key == name else key, part) for key, part in pairs), zipfile.ZIP_STORED)
        case 2:
            return to_zip([*pairs, (name, members[other])], zipfile.ZIP_STORED)
        case 3:
            return stored({**members, name: members[other], other: members[name]})
        case _:
            return to_zip(pairs, pick(rng, [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))


def spoil_array(rng: Generator, members: dict[str, bytes]) -> bytes:
    """Change an array: its bytes, its header, its values or its type; the file is sealed."""
    name = pick(rng, [name for name in members if name.endswith((".npy", ".npz"))] or [SCHEMA])
    content = members[name]
    match rng.integers(4) if name.endswith(".npy") else 0:
        case 0:
            content = damage_bytes(rng, content)
        case 1:
            header = pick(rng, HEADERS).encode("latin1") + b"\n"
            content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content[128:]
        case 2:
            content = spoil_values(rng, content)
        case _:
            array = read(content)
            changes = [
                array.astype(object),
                array[..., None],
                array.ravel()[:0],
                array.ravel()[::-1],
                np.float32(1),
                np.ones((9, 9)),
            ]
            content = to_npy(np.asarray(pick(rng, changes)))
    return stored(seal({**members, name: content}))


def read(content: bytes) -> np.ndarray:
    """Return the array of a member."""
    return np.load(io.BytesIO(content), allow_pickle=False)


def spoil_values(rng: Generator, content: bytes) -> bytes:
    """Replace values of an array by extreme ones."""
    array = read(content).copy()
    if array.dtype.kind in "iuf" and array.size:
        with np.errstate(all="ignore"):
            array.reshape(-1)[rng.integers(array.size)] = np.asarray(pick(rng, EXTREMES)).astype(array.dtype)
    return to_npy(array)


def nodes_of(value: Any) -> list[dict[str, Any]]:
    """Return all nodes of a tree."""
    found, waiting = [], [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found += [part] if "__loader__" in part else []
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return found


def spoil_tree(rng: Generator, members: dict[str, bytes]) -> bytes:
    """Change nodes of the tree: their types, loaders, identities, contents; the file is sealed."""
    schema = json.loads(members[SCHEMA])
    for _ in range(rng.integers(1, 3)):
        nodes = nodes_of(schema)
        node, other = pick(rng, nodes), pick(rng, nodes)
        match rng.integers(9):
            case 0:
                node["__module__"], _, node["__class__"] = pick(rng, FOREIGN).rpartition(".")
            case 1:
                node["__loader__"] = pick(rng, LOADERS)
            case 2:
                node["__id__"] = other["__id__"] = int(rng.integers(1, 4))
            case 3:
                node.pop(pick(rng, node))
            case 4:
                node[pick(rng, node)] = pick(rng, [None, 0, "", "x", [], {}, 1e400, -1, "0.npy", {"a": {}}])
            case 5:
                kept = dict(other)
                node.clear()
                node.update(json.loads(json.dumps(kept)))
            case 6 if isinstance(node.get("content"), list) and node["content"]:
                node["content"].pop(rng.integers(len(node["content"])))
            case 7 if node["__loader__"] == "JsonNode":
                node["content"] = pick(rng, ["null", "1e999", "-1", '"x"', "true", "NaN", "9" * 30, "[", '"\\ud800"'])
            case _:
                schema["protocol"] = pick(rng, [0, 1, 3, True, "2", None, 2.0, -1])
        if "__loader__" not in schema:
            break
    return stored(seal({**members, SCHEMA: json.dumps(schema).encode()}))


def spoil_header(rng: Generator, members: dict[str, bytes]) -> bytes:
    """Change a part of the header."""
    header = json.loads(members[HEADER])
    header[pick(rng, header)] = pick(rng, [None, 0, -1, 2, 10**30, "", "x", [], {}, {"a": 1}, True, [1], 1.5])
    return stored({**members, HEADER: json.dumps(header).encode()})


KINDS: dict[str, Callable[[Generator, dict[str, bytes]], bytes]] = {
    "file": spoil_file,
    "member": spoil_member,
    "names": spoil_names,
    "array, sealed": spoil_array,
    "tree, sealed": spoil_tree,
    "header": spoil_header,
}


def mutate(seed: int, number: int) -> tuple[str, str, bytes]:
    """Return the example's name, the kind of mutation and the file of one case."""
    rng = np.random.default_rng([seed, number])
    name, kind = pick(rng, examples()), pick(rng, ["file", *KINDS, "tree, sealed"])
    return name, kind, KINDS[kind](rng, members_of(name))


def outcome_of(name: str, kind: str, path: Path, watch: Watch) -> str:
    """Return "refused", "loaded", "other", or what is wrong with how the load of a file ended."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with watch.during_load_of(path):
                model = gramian.load(path)
    except gramian.files.FileError as error:
        end = "refused" if str(error).startswith(f"{path} cannot be loaded: ") else f"unclear: {error}"
    except Exception as error:
        end = f"{type(error).__name__}: {error}"
    else:
        end = (
            "loaded" if is_same(name, model) else use(name, model) if "sealed" in kind else "loaded with other content"
        )
    return "; ".join([*watch.seen(), end])


def is_same(name: str, model: Any) -> bool:
    """Return True if a model has the tree and the arrays of an example, to the last bit."""
    try:
        members = unpack(to_bytes(model))
    except gramian.files.FileError:
        return False
    own = members_of(name)
    return members.keys() == own.keys() and all(members[key] == own[key] for key in own if key != HEADER)


def use(name: str, model: Any) -> str:
    """Return "other" after a call of each method: another model may predict anything, but not end the process."""
    X = ["a cat", "a fish"] if name == "words" else samples()[0]
    known = ("gramian.", "sklearn.", "numpy", "builtins", "scipy.", "collections")
    foreign = [type(part) for part in walk(model) if not type(part).__module__.startswith(known)]
    if foreign:
        return f"has a part of type {foreign[0]}"
    for method, arguments in (("transform", (X,)), ("predict", (X,)), ("partial_fit", (X,))):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                getattr(model, method)(*arguments)
        except MemoryError as error:
            return f"{method} needs too much memory: {error}"
        except Exception:
            continue
    return "other"


def run(seed: int, numbers: Iterable[int], report: Callable[[int], None] = lambda number: None) -> Counter:
    """Return how the loads of some cases ended, with their counts; a fault has the number of its case."""
    counts: Counter = Counter()
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gramian"
        for number in numbers:
            report(number)
            name, kind, content = mutate(seed, number)
            path.write_bytes(content)
            end = outcome_of(name, kind, path, watch)
            if list(Path(folder).iterdir()) != [path]:
                end = "wrote another file"
            good = end in ("refused", "loaded", "other")
            counts[end if good else f"fault {number} ({name}, {kind}): {end}"[:400]] += 1
    return counts


def run_hostile(report: Callable[[int], None] = lambda number: None) -> Counter:
    """Return how the loads of hostile files ended: each must be refused."""
    from harness.hostile_models import PROOF, hostile_files

    counts: Counter = Counter()
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gramian"
        for number, (label, content) in enumerate(hostile_files()):
            report(number)
            path.write_bytes(content)
            end = outcome_of("metric", "hostile", path, watch)
            if list(Path(folder).iterdir()) != [path] or Path(PROOF).exists():
                end = "wrote another file"
            counts[end if end == "refused" else f"fault {-1 - number} ({label}): {end}"[:400]] += 1
    return counts


def soak(cases: int, seed: int, hostile: bool = False) -> Counter:
    """Return how cases 0 .. cases-1 ended, in processes of CHUNK cases each; the first also loads the hostile files.

    A hostile file has the number -1 - i in the messages of faults.
    """
    counts: Counter = Counter()
    at = 0
    while at < cases or hostile:
        stop = min(at + CHUNK, cases)
        end = run_apart("harness.model_files", seed, at, stop, *["--hostile"] * hostile)
        counts.update(end.counts)
        if end.crashed is None:
            at = stop
        else:
            # What was counted before the crash is counted again.
            counts.update(run(seed, range(at, end.crashed)))
            at = max(at, end.crashed + 1)
        hostile = False
    return counts


def limit_memory() -> None:
    """Let this process reserve MEMORY beyond what it has."""
    for name in examples():
        members_of(name)
        use(name, examples()[name])
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def report(number: int) -> None:
    """Print the number of a case before it begins."""
    print(f"case {number}", flush=True)


def report_hostile(number: int) -> None:
    """Print the number of a hostile file, below zero."""
    report(-1 - number)


def main() -> int:
    """Run as told by the command line, and print the counts; the exit status is 1 after a fault."""
    parser = argparse.ArgumentParser(description="Load mutated and hostile files of models.")
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hostile", action="store_true", help="load the hostile files too")
    parser.add_argument("--span", type=int, nargs=2, help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.span:
        limit_memory()
        counts = run_hostile(report_hostile) if settings.hostile else Counter()
        counts += run(settings.seed, range(*settings.span), report)
        print("\x00".join(f"{count} {end}".replace("\n", " ") for end, count in counts.items()))
        return 0
    begin = time.monotonic()
    counts = soak(settings.cases, settings.seed, settings.hostile)
    print(f"seed {settings.seed}: {counts.total()} cases in {time.monotonic() - begin:.0f} s")
    for end, count in counts.most_common():
        print(f"{count:8} {end}")
    return int(any(end.startswith("fault") for end in counts))


if __name__ == "__main__":
    sys.exit(main())
