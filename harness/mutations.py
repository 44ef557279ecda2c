"""Damaged files of data sets: loads of random mutations, counted by how they end.

    python -m harness.mutations --cases 50000 --seed 0

A load ends in one of three ways: `refused`, by a `DatasetDamaged` that names the file and what to do; `loaded`, and
then the data has the size of the catalogue, is finite, and its products work; or a fault, which is any other exception,
a warning, or the end of the process. Loads run in processes of limited memory, so that a fault of any kind is counted.
A case depends on its seed and number only, so one that failed can be repeated: `run(seed, [number])`.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse

from gramian import datasets
from gramian.datasets.catalogue import CATALOGUE

__all__ = ["KINDS", "examples", "mutate", "outcome_of", "run", "soak"]

Arrays = dict[str, np.ndarray]
Generator = np.random.Generator

CHUNK = 2500
# What a load may reserve beyond what the process has when it starts.
MEMORY = 1 << 30

HEADERS = [
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [('a', '<f8'), ('b', '|O')], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000, 4), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1000000000000000000000000000000), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-625, -4), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (625.0, 4), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }" % ("1, " * 60),
    "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000,), }",
    "{'descr': '<U999999999', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f16', 'fortran_order': False, 'shape': (625, 4), }",
    "{'descr': '<f3', 'fortran_order': False, 'shape': (625, 4), }",
    "{'descr': '<c16', 'fortran_order': False, 'shape': (625, 4), }",
    "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (625,), }",
    "{'descr': '|V8', 'fortran_order': False, 'shape': (625,), }",
    "{'descr': '\\d', 'fortran_order': 2, 'shape': (625,), }",
    "{'shape': (10L,), 'descr': '<f8', 'fortran_order': False}",
    "(" * 5000,
    "-" * 5000,
    "'''",
    "{1: {2: [",
    "__import__('os')._exit(3)",
    "",
]
EXTREMES = [0, -1, 1, 2, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**62, -(2**63), 0.5, np.nan, np.inf, 1e308, -1e-320]


@cache
def examples() -> dict[str, Arrays]:
    """Return the arrays of an intact file for each of several sets: dense, with missing values, prepared, sparse."""
    rng = np.random.default_rng(0)

    def labels(name: str) -> np.ndarray:
        return (np.arange(CATALOGUE[name].size[0]) % CATALOGUE[name].size[2]).astype(np.uint8)

    soybean = rng.integers(4, size=(683, 35)).astype(np.float32)
    soybean[rng.random(soybean.shape) < 0.01] = np.nan
    X = scipy.sparse.random(18846, 130108, 1e-6, "csr", None, rng)
    counts = (1 + 9 * X.data).astype(np.uint16)
    return {
        "balance_scale": {
            "data": rng.integers(1, 6, size=(625, 4)).astype(np.uint8),
            "target": labels("balance_scale"),
            "test_mask": np.arange(625) >= 500,
            "feature_names": np.array(["a", "b", "c", "dé"]),
            "target_names": np.array(["L", "B", "R"]),
        },
        "soybean": {"data": soybean, "target": labels("soybean")},
        "colon": {"data": rng.integers(1, 200, size=(62, 2000)).astype(np.int16), "target": labels("colon")},
        "newsgroups20": {
            "csr_data": counts,
            "csr_indices": X.indices,
            "csr_indptr": X.indptr,
            "csr_shape": np.array(X.shape),
            "target": labels("newsgroups20"),
        },
    }


def to_npy(array: np.ndarray) -> bytes:
    """Return an array in NumPy's format; objects are pickled, as a file made to do harm would."""
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=True)
    return content.getvalue()


def to_zip(members: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of members, with valid checksums."""
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w", method, compresslevel=1) as archive:
        # A name that occurs twice is a warning for writers.
        warnings.simplefilter("ignore")
        for name, member in members:
            archive.writestr(name, member)
    return content.getvalue()


def to_members(arrays: Arrays) -> dict[str, bytes]:
    """Return the members of a file by name."""
    return {f"{key}.npy": to_npy(array) for key, array in arrays.items()}


def damage_bytes(rng: Generator, content: bytes) -> bytes:
    """Return bytes of which some are changed, lost, added or moved."""
    size = max(len(content), 1)
    # Half of the time near an end, where the directory and the headers are.
    at = int(rng.integers(size))
    near = int(min(size - 1, rng.integers(300)))
    at = [at, at, near, size - 1 - near][rng.integers(4)]
    length = int(rng.integers(1, [3, 9, 65, size + 1][rng.integers(4)]))
    changed = bytearray(content)
    match rng.integers(8):
        case 0:
            return content[:at]
        case 1:
            for i in np.minimum(at + rng.integers(64, size=rng.integers(1, 9)), size - 1):
                changed[i : i + 1] = bytes([(changed[i] if content else 0) ^ (1 << int(rng.integers(8)))])
        case 2:
            changed[at : at + length] = rng.bytes(len(changed[at : at + length]))
        case 3:
            changed[at : at + length] = bytes([[0, 255][rng.integers(2)]]) * len(changed[at : at + length])
        case 4:
            del changed[at : at + length]
        case 5:
            changed[at:at] = rng.bytes(min(length, 1000))
        case 6:
            changed[at:at] = content[:length]
        case _:
            value = int(rng.choice([0, 1, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1]))
            changed[at : at + 4] = value.to_bytes(4, "little")
    return bytes(changed)


def spoil_file(rng: Generator, arrays: Arrays) -> bytes:
    """Change the bytes of the file, so that checksums fail or the archive is damaged."""
    content = to_zip(to_members(arrays).items(), [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED][rng.integers(2)])
    for _ in range(rng.integers(1, 4)):
        content = damage_bytes(rng, content)
    return content


def spoil_member(rng: Generator, arrays: Arrays) -> bytes:
    """Change the bytes of an array, its header among them, under a valid checksum."""
    members = to_members(arrays)
    name = rng.choice(list(members))
    content = members[name]
    if rng.integers(2):
        members[name] = damage_bytes(rng, content[:128]) + content[128:]
    else:
        members[name] = damage_bytes(rng, content)
    return to_zip(members.items())


def spoil_header(rng: Generator, arrays: Arrays) -> bytes:
    """Replace the header of an array, under a valid checksum."""
    members = to_members(arrays)
    name = rng.choice(list(members))
    header = HEADERS[rng.integers(len(HEADERS))].encode("latin1") + b"\n"
    version = int(rng.choice([1, 1, 2, 3, 4]))
    length = len(header) if rng.integers(4) else int(rng.integers(2**16))
    start = b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(2 if version == 1 else 4, "little")
    members[name] = start + header + members[name][128:]
    return to_zip(members.items())


def spoil_values(rng: Generator, arrays: Arrays) -> bytes:
    """Replace values by extreme ones, in a type that holds them."""
    arrays = dict(arrays)
    key = rng.choice(list(arrays))
    array = arrays[key]
    if array.dtype.kind == "U":
        array = array.view(np.uint32).copy()
        array[rng.integers(len(array))] = rng.choice([0, 10, 0xD800, 0x10FFFF, 0x110000, 2**32 - 1])
        arrays[key] = array.view(arrays[key].dtype)
        return to_zip(to_members(arrays).items())
    value = EXTREMES[rng.integers(len(EXTREMES))]
    with np.errstate(all="ignore"):
        kinds = ["i4", "i8", "f4", "f8", "u8", ">i4", ">f8"]
        array = array.astype(rng.choice(kinds) if rng.integers(2) else array.dtype)
        array.flat[rng.integers(array.size, size=rng.integers(1, 4))] = np.asarray(value).astype(array.dtype)
    arrays[key] = array
    return to_zip(to_members(arrays).items())


def spoil_types(rng: Generator, arrays: Arrays) -> bytes:
    """Change the type or the shape of an array."""
    arrays = dict(arrays)
    key = rng.choice(list(arrays))
    array = arrays[key]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changes: list[Callable[[], np.ndarray]] = [
            lambda: array.astype(object),
            lambda: array.astype("U8"),
            lambda: np.char.encode(array.astype("U8")),
            lambda: array[:0],
            lambda: array[:-1],
            lambda: np.concatenate([array, array]),
            lambda: array[None],
            lambda: array[..., None, None, None],
            lambda: np.asfortranarray(array),
            lambda: array.ravel()[:1].reshape(()),
            lambda: np.zeros(array.shape, "M8[s]"),
            lambda: np.zeros(array.shape, complex),
            lambda: np.zeros(array.shape, [("a", "f8")]),
            lambda: np.zeros(array.shape, np.longdouble),
            lambda: np.array(None),
        ]
        arrays[key] = changes[rng.integers(len(changes))]()
    return to_zip(to_members(arrays).items())


def spoil_keys(rng: Generator, arrays: Arrays) -> bytes:
    """Lose, rename, exchange or repeat members, or add foreign ones."""
    members = list(to_members(arrays).items())
    i, j = rng.integers(len(members), size=2)
    (name, content), (other, _) = members[i], members[j]
    match rng.integers(7):
        case 0:
            del members[i]
        case 1:
            members[i] = (
                rng.choice([name.removesuffix(".npy"), name.upper(), f"../{name}", "x/", "ü\x01", other]),
                content,
            )
        case 2:
            members[i], members[j] = (name, members[j][1]), (other, content)
        case 3:
            members.append((name, content))
        case 4:
            members.append((rng.choice(["data.npy", "csr_data.npy", "vocabulary_utf8.npy", "x"]), content))
        case 5:
            members.append((name.removesuffix(".npy"), content))
        case _:
            members.append(("vocabulary_utf8.npy", to_npy(np.frombuffer(rng.bytes(200), np.uint8))))
    return to_zip(members)


def nest(rng: Generator, arrays: Arrays) -> bytes:
    """Put archives into archives, use other compressions, or claim what a small file unpacks to gigabytes."""
    members = to_members(arrays)
    content = to_zip(members.items())
    name = rng.choice(list(members))
    match rng.integers(8):
        case 0:
            return to_zip([(name, content)])
        case 1:
            return to_zip((name, content) for name in members)
        case 2:
            return content + content
        case 3:
            return rng.bytes(100) + content
        case 4:
            return to_zip(members.items(), [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA][rng.integers(2)])
        case 5:
            return members[name]
        case 6:
            # The encryption flag of every member, in both places.
            changed = bytearray(content)
            for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
                at = -1
                while (at := changed.find(mark, at + 1)) >= 0:
                    changed[at + offset] |= 1
            return bytes(changed)
        case _:
            members[name] = bomb()
            return to_zip(members.items())


@cache
def bomb() -> bytes:
    """Return an array of 24 MB, which a file stores in a thousandth of that."""
    return to_npy(np.zeros(3 * 10**6))


KINDS: dict[str, Callable[[Generator, Arrays], bytes]] = {
    "file": spoil_file,
    "member": spoil_member,
    "header": spoil_header,
    "values": spoil_values,
    "types": spoil_types,
    "keys": spoil_keys,
    "nested": nest,
}


def mutate(seed: int, number: int) -> tuple[str, str, bytes]:
    """Return the set's name, the kind of mutation and the file of one case."""
    rng = np.random.default_rng([seed, number])
    name = rng.choice(list(examples()))
    # Most mutations by far are possible in the bytes of a file.
    kind = rng.choice(["file", *KINDS])
    return str(name), str(kind), KINDS[kind](rng, examples()[name])


def outcome_of(name: str, path: Path) -> str:
    """Return "refused", "loaded", or what is wrong with how the load of a set from a file ended."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dataset = datasets.load(name, download=False)
            return wrong_with(name, dataset) or "loaded"
    except datasets.DatasetDamaged as error:
        clear = str(path) in str(error) and "Delete it and load again, or replace it" in str(error)
        return "refused" if clear else f"unclear: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def wrong_with(name: str, dataset: datasets.Dataset) -> str:
    """Return what is wrong with a set that was loaded, or ""."""
    n, d, _ = CATALOGUE[name].size
    X, y = dataset.X, dataset.y
    if X.shape[1] != d or not 0 < X.shape[0] <= n or len(y) != X.shape[0] or y.min() != 0:
        return f"shape {X.shape} and {len(y)} labels"
    if dataset.feature_names and len(dataset.feature_names) != d:
        return f"{len(dataset.feature_names)} names"
    # Products read and write where the indices point.
    _ = X @ np.zeros((d, 2)), X.T @ np.zeros((X.shape[0], 2))
    repr((dataset, dataset.feature_names, dataset.target_names)).encode()
    return "" if np.isfinite(X.data if scipy.sparse.issparse(X) else X).all() else "values that are not finite"


def run(seed: int, numbers: Iterable[int], report: Callable[[int], None] = lambda number: None) -> Counter:
    """Return how the loads of some cases ended, with their counts; a fault has the number of its case.

    `report` is called with the number of each case before it begins.
    """
    counts: Counter = Counter()
    before = {key: os.environ.get(key) for key in ("GRAMIAN_DATA", "GRAMIAN_CACHE")}
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"GRAMIAN_DATA": folder, "GRAMIAN_CACHE": folder}
        try:
            for number in numbers:
                report(number)
                name, kind, content = mutate(seed, number)
                path = Path(folder) / f"{name}.npz"
                path.write_bytes(content)
                end = outcome_of(name, path)
                path.unlink()
                counts[end if end in ("refused", "loaded") else f"fault {number} ({name}, {kind}): {end}"[:300]] += 1
        finally:
            for key, value in before.items():
                os.environ.pop(key, None) if value is None else os.environ.update({key: value})
    return counts


def soak(cases: int, seed: int, seconds: float = np.inf) -> Counter:
    """Return how cases 0 .. cases-1 ended, run in processes of CHUNK cases each, until the time is over."""
    counts: Counter = Counter()
    begin = time.monotonic()
    at = 0
    while at < cases and time.monotonic() - begin < seconds:
        stop = min(at + CHUNK, cases)
        end = run_apart("harness.mutations", seed, at, stop)
        counts.update(end.counts)
        if end.crashed is None:
            at = stop
        else:
            # What was counted before the crash is counted again.
            counts.update(run(seed, range(at, end.crashed)))
            at = end.crashed + 1
    return counts


class ApartEnd(NamedTuple):
    """How cases in a process of their own ended, and the number of the case that ended the process, if one did."""

    counts: Counter
    crashed: int | None


def run_apart(module: str, seed: int, start: int, stop: int, *flags: str) -> ApartEnd:
    """Run the cases start .. stop-1 of a module in a process of their own."""
    command = [sys.executable, "-m", module, "--seed", str(seed), "--span", str(start), str(stop), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = (done.stdout.splitlines() or [""])[-1]
    if done.returncode == 0:
        parts = [line.partition(" ") for line in last.split("\x00")]
        return ApartEnd(Counter({end: int(count) for count, _, end in parts}), None)
    # The process ended in the case it reported last.
    crashed = int(last.split()[-1]) if last.startswith("case") else start
    fault = f"fault {crashed}: the process ended with {done.returncode}: {done.stderr[-300:]}"
    return ApartEnd(Counter({fault: 1}), crashed)


def run_span(seed: int, start: int, stop: int) -> None:
    """Run some cases in this process, of limited memory, and print the number of each and then the counts."""
    examples()
    bomb()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    counts = run(seed, range(start, stop), lambda number: print(f"case {number}", flush=True))
    print("\x00".join(f"{count} {end}".replace("\n", " ") for end, count in counts.items()))


def main() -> None:
    """Run as told by the command line, and print the counts."""
    parser = argparse.ArgumentParser(description="Load mutated files of data sets.")
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--span", type=int, nargs=2, help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.span:
        return run_span(settings.seed, *settings.span)
    begin = time.monotonic()
    counts = soak(settings.cases, settings.seed, settings.seconds)
    print(f"seed {settings.seed}: {counts.total()} cases in {time.monotonic() - begin:.0f} s")
    for end, count in counts.most_common():
        print(f"{count:8} {end}")
    return None


if __name__ == "__main__":
    main()
