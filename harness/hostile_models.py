"""Model files that are made to do harm: to run code, exhaust the memory, write elsewhere, or crash the process.

Digests and checksums of all of them are right unless they are the subject: the files come from someone who knows the
format. What would be run writes a file, so that it would be seen.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gramian.files.archive import HEADER, SCHEMA
from harness.model_files import members_of, nodes_of, seal, stored
from harness.mutations import HEADERS, to_npy, to_zip

__all__ = ["PROOF", "hostile_files"]

#: The file that hostile code would write.
PROOF = f"{tempfile.gettempdir()}/gramian-was-here"
COMMAND = f"touch {PROOF}"
CALLABLES = [
    *(
        "os.system",
        "posix.system",
        "builtins.eval",
        "builtins.exec",
        "builtins.compile",
        "builtins.__import__",
        "builtins.open",
    ),
    *("subprocess.Popen", "subprocess.call", "subprocess.check_output", "importlib.import_module", "runpy.run_path"),
    *(
        "pickle.loads",
        "marshal.loads",
        "shutil.rmtree",
        "numpy.load",
        "numpy.memmap",
        "numpy.fromfile",
        "numpy.frompyfunc",
    ),
    *("numpy.vectorize", "joblib.load", "joblib.numpy_pickle.load", "sklearn.utils._testing.set_random_state"),
    *("gramian.demo.main", "gramian.datasets.load", "gramian.load", "gramian.files.storage.load", "timeit.timeit"),
    *(
        "gramian.estimators.metric.learn_targets",
        "sklearn.utils.validation.check_array",
        "functools.partial",
        "ctypes.CDLL",
    ),
]
LOADERS = ["FunctionNode", "TypeNode", "ObjectNode", "ConstructorFromReduceNode"]

Members = dict[str, bytes]


class Payload:
    """An object whose pickle runs a command when it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.system, (COMMAND,)


def with_tree(name: str, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return the sealed file of an example whose tree is changed."""
    members = members_of(name)
    schema = json.loads(members[SCHEMA])
    change(schema)
    return stored(seal({**members, SCHEMA: json.dumps(schema).encode()}))


def attributes(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of the root, by name."""
    return schema["content"]["content"]


def node(loader: str, full: str, **more: Any) -> dict[str, Any]:
    """Return a node of a type."""
    module, _, name = full.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, **more}


def text(value: Any) -> dict[str, Any]:
    """Return the node of a plain value."""
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def items(loader: str, *content: Any) -> dict[str, Any]:
    """Return the node of a list or a tuple."""
    return node(loader, f"builtins.{loader.removesuffix('Node').lower()}", content=list(content))


def mapping(**values: Any) -> dict[str, Any]:
    """Return the node of a dict."""
    kinds = items("ListNode", *(node("TypeNode", "builtins.str") for _ in values))
    return node("DictNode", "builtins.dict", content=values, key_types=kinds)


def replaced(value: Any) -> bytes:
    """Return a file in which the callback is another node."""
    return with_tree("metric", lambda schema: attributes(schema).update(callback=value))


def callables() -> Iterator[tuple[str, bytes]]:
    """Functions and types that are named in every way that skops knows."""
    arguments = items("TupleNode", text(COMMAND))
    for full in CALLABLES:
        for loader in LOADERS:
            more = {} if loader in ("FunctionNode", "TypeNode") else {"content": arguments}
            yield f"{loader} of {full}", replaced(node(loader, full, **more))
        kinds = items("ListNode", node("TypeNode", full))
        yield (
            f"key of type {full}",
            replaced(node("DictNode", "builtins.dict", content={COMMAND: text(1)}, key_types=kinds)),
        )
    function, empty = node("FunctionNode", "os.system"), mapping()
    parts = {"func": function, "args": arguments, "kwds": empty, "namespace": text(None)}
    yield "partial", replaced(node("PartialNode", "functools.partial", content=parts))
    for loader in ("ListNode", "SetNode", "TupleNode"):
        yield f"{loader} of os.system", replaced(node(loader, "os.system", content=[text(COMMAND)]))
    yield "DictNode of os.getcwd", replaced(node("DictNode", "os.getcwd", content={}, key_types=items("ListNode")))
    for kind in ("methodcaller", "attrgetter", "itemgetter"):
        yield kind, replaced(node("OperatorFuncNode", f"operator.{kind}", attrs=items("TupleNode", text("mro"))))
    owner = node("ObjectNode", "sklearn.preprocessing._data.StandardScaler", content=mapping())
    yield (
        "method",
        replaced(
            node("MethodNode", "sklearn.preprocessing._data.StandardScaler", content={"func": "fit", "obj": owner})
        ),
    )
    yield "bytes", replaced(node("BytesNode", "builtins.bytes", file=SCHEMA))
    yield "reduce", replaced(node("ReduceNode", "os.system", __reduce__={"args": arguments}, content=mapping()))
    for loader in ("LossNode", "TreeNode", "QuantileForestNode", "DefaultDictNode"):
        made = {"args": arguments}
        yield loader, replaced(node(loader, "os.system", __reduce__=made, content=mapping(), constructor=function))
    root = "sklearn.pipeline.Pipeline"
    for other in (
        "os._Environ",
        "subprocess.Popen",
        "sklearn.tree._tree.Tree",
        "gramian.estimators.metric.Missing",
        f"{root}.",
    ):

        def change(schema: dict[str, Any], other: str = other) -> None:
            schema["__module__"], _, schema["__class__"] = other.rpartition(".")

        yield f"root {other}", with_tree("metric", change)
    yield "root list", with_tree("metric", lambda schema: schema.update(items("ListNode", text(1)), protocol=2))


def pickles() -> Iterator[tuple[str, bytes]]:
    """Pickles in place of a file, of a member, of an array, or beside them."""
    payload, members = pickle.dumps(Payload()), members_of("metric")
    arrays = [name for name in members if name.endswith(".npy")]
    yield "a pickle", payload
    objects = np.empty(1, object)
    objects[0] = Payload()
    for name in arrays[:5]:
        yield f"pickled {name}", stored(seal({**members, name: payload}))
        yield f"object array {name}", stored(seal({**members, name: to_npy(objects)}))
    for name in ("0.pkl", "data.pkl", "__main__.py", "0.bin", "sitecustomize.py"):
        yield f"member {name}", stored(seal({**members, name: payload}))
    for at, header in enumerate(HEADERS):
        raw = header.encode("latin1") + b"\n"
        array = b"\x93NUMPY\x01\x00" + len(raw).to_bytes(2, "little") + raw + bytes(100)
        yield f"header {at}", stored(seal({**members, arrays[0]: array}))
    yield (
        "object array as JSON",
        replaced(
            node(
                "NdArrayNode",
                "numpy.ndarray",
                type="json",
                shape=items("TupleNode", text(1)),
                content=[node("ObjectNode", "os.system")],
            )
        ),
    )
    wide = items("ListNode", *[items("ListNode", text(1))] * 2)
    yield (
        "object array of two dimensions",
        replaced(
            node(
                "NdArrayNode", "numpy.ndarray", type="json", shape=items("TupleNode", text(2), text(1)), content=[wide]
            )
        ),
    )


def archives() -> Iterator[tuple[str, bytes]]:
    """Names that lead elsewhere, members that grow, and archives that lie."""
    members = members_of("metric")
    names = [
        "../x",
        "../../etc/cron.d/x",
        "/etc/passwd",
        "..\\x",
        "C:\\x",
        "a/b",
        "x/",
        ".",
        "0.npy/",
        "0.npy ",
        "０.npy",
    ]
    for name in [*names, "0.npy\x00.txt", "9" * 300 + ".npy", "-1.npy", "~/.bashrc"]:
        yield f"name {name[:20]!r}", stored(seal({**members, name: b"x"}))
    bomb = to_npy(np.zeros(10**6))
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield f"bomb by {method}", to_zip(seal({**members, "0.npy": bomb}).items(), method)
    yield "bomb in the tree", to_zip(seal({**members, SCHEMA: b" " * 10**7}).items(), zipfile.ZIP_DEFLATED)
    nested = io.BytesIO()
    np.savez_compressed(
        nested, data=np.zeros(10**6), indices=np.zeros(1, int), indptr=np.zeros(2, int), shape=[1, 1], format=b"csr"
    )
    kernel = members_of("kernel")
    sparse = next(name for name in kernel if name.endswith(".npz"))
    yield "bomb in a sparse matrix", stored(seal({**kernel, sparse: nested.getvalue()}))
    content = bytearray(stored(members))
    for label, mark, offset in (
        ("local size", b"PK\x03\x04", 22),
        ("size", b"PK\x01\x02", 24),
        ("stored size", b"PK\x01\x02", 20),
    ):
        changed, at = bytearray(content), content.rfind(mark)
        changed[at + offset : at + offset + 4] = struct.pack("<I", 0xFFFFFFF0)
        if label != "local size":
            yield f"claims another {label}", bytes(changed)
    yield "overlapping members", overlapping()
    yield "two archives", bytes(content[: len(content) // 2]) + bytes(content)[:100]
    flagged = bytearray(content)
    flagged[flagged.rfind(b"PK\x01\x02") + 8] |= 1
    yield "encrypted", bytes(flagged)
    for size in (0, 1, 10, 21, 22, 100, len(content) - 1, len(content) // 2):
        yield f"the first {size} bytes", bytes(content[:size])


def overlapping() -> bytes:
    """Return an archive whose directory names one member many times, under other names."""
    inner = to_npy(np.zeros(10**4))
    base = bytearray(stored({"0.npy": inner}))
    directory = base.rfind(b"PK\x01\x02")
    end = base.rfind(b"PK\x05\x06")
    entry = bytes(base[directory:end])
    copies = b"".join(entry.replace(b"0.npy", f"{i}.npy".encode()) for i in range(10))
    tail = bytearray(base[end:])
    tail[8:12] = struct.pack("<HH", 10, 10)
    tail[12:16] = struct.pack("<I", len(copies))
    return bytes(base[:directory]) + copies + bytes(tail)


def trees() -> Iterator[tuple[str, bytes]]:
    """Trees that are deep, that contain themselves, or that play one part for another."""
    for protocol in (-1, 0, 1, True, "2", None, 10**30):
        yield f"protocol {protocol}", with_tree("metric", lambda schema, p=protocol: schema.update(protocol=p))
    deep: Any = text(1)
    for _ in range(200):
        deep = items("ListNode", deep)
    yield "deep", replaced(deep)
    members = members_of("metric")
    for raw in (
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"null",
        b"[]",
        b"\xff\xfe",
        b"9" * 10_000,
        b'{"__loader__": "ObjectNode"}',
    ):
        yield f"tree {raw[:10]!r}", stored(seal({**members, SCHEMA: raw}))
    alias = items("ListNode", text(1)) | {"__id__": 7}
    other = node("TypeNode", "builtins.str") | {"__id__": 7}
    yield "two parts of one identity", replaced(items("ListNode", alias, other))
    yield (
        "an identity within itself",
        replaced(items("ListNode", items("ListNode", text(1)) | {"__id__": 7}) | {"__id__": 7}),
    )
    for identity in (-1, 0, 1.5, "1", True, []):
        yield f"identity {identity!r}", replaced(items("ListNode", text(1)) | {"__id__": identity})
    for content in ("[1, 2]", '{"a": 1}', "", "9" * 5000, "[" * 5000, "__import__('os')"):
        yield f"value {content[:20]!r}", replaced(node("JsonNode", "builtins.str", content=content, is_json=True))
    array = next(name for name in members if name.endswith(".npy"))
    for name in ("../x.npy", "/etc/passwd", SCHEMA, HEADER, "999.npy", None, 5, array.replace(".npy", ".npz")):
        yield f"array in {name}", replaced(node("NdArrayNode", "numpy.ndarray", type="numpy", file=name))
    for full in (
        "numpy.memmap",
        "numpy.matrix",
        "numpy.recarray",
        "numpy.load",
        "numpy.ma.MaskedArray",
        "numpy.chararray",
    ):
        yield f"array of {full}", replaced(node("NdArrayNode", full, type="numpy", file=array))
    for place in ("/etc/cron.d/x", "~/.bashrc", 5, ["x"]):
        value = items("ListNode", text("x")) if isinstance(place, list) else text(place)
        yield (
            f"checkpoint {place}",
            with_tree("metric", lambda schema, v=value: attributes(schema).update(checkpoint=v)),
        )
        yield f"memory {place}", with_tree("pipeline", lambda schema, v=value: attributes(schema).update(memory=v))
    yield "a type of other settings", with_tree("metric", lambda schema: attributes(schema).update(shell=text(COMMAND)))


def states() -> Iterator[tuple[str, bytes]]:
    """States that lead compiled code out of its arrays, or make it reserve memory."""
    for name in ("components_", "factor_"):
        for shape in ((2, 3), (3, 4), (8,), (2, 4, 1), (0, 0)):
            yield (
                f"{name} of {shape}",
                with_array("metric", name, np.ones(shape) if name == "components_" else np.ones((2, 4), int)),
            )
    for part in range(5):
        for shape in ((1,), (5, 5), (0,)):
            yield f"stream, part {part} of {shape}", with_stream(part, np.ones(shape))
    for position in (-1, 625, 10**6, 2**31 - 1):
        yield f"random state at {position}", with_position(position)
    for size in (10**6, 10**12, -1, 0, "x", None):
        yield f"pool of {size}", with_pool(size)
    for name in ("seed", "Generator", "os", "RandomState", "__class__", "BitGenerator", 5):
        yield f"bit generator {name}", with_generator(name)
    kernel = members_of("kernel")
    sparse = next(name for name in kernel if name.endswith(".npz"))
    with np.load(io.BytesIO(kernel[sparse])) as matrix:
        parts = {key: matrix[key] for key in matrix.files}
    for key, change in (
        ("indices", 10**6),
        ("indices", -1),
        ("indptr", 10**6),
        ("indptr", -5),
        ("shape", -1),
        ("shape", 2**40),
    ):
        array = parts[key].astype(np.int64).copy()
        array[-1] = change
        yield f"sparse {key} {change}", with_sparse(parts | {key: array})
    yield "sparse of another format", with_sparse(parts | {"format": np.array(b"dia")})
    yield "sparse of objects", with_sparse(parts | {"data": parts["data"].astype(object)})
    for value in (10**6, -1, 2**40):
        yield f"tree of neighbours {value}", with_neighbours(value)


def with_array(example: str, name: str, array: np.ndarray) -> bytes:
    """Return the sealed file of an example, one of whose attributes is another array."""
    members = dict(members_of(example))
    schema = json.loads(members[SCHEMA])
    file = "777.npy"
    attributes(schema)[name] = node("NdArrayNode", "numpy.ndarray", type="numpy", file=file)
    used = {part.get("file") for part in nodes_of(schema)}
    kept = {key: part for key, part in members.items() if key in used or key in (HEADER, SCHEMA)}
    return stored(seal({**kept, file: to_npy(array), SCHEMA: json.dumps(schema).encode()}))


def with_stream(part: int, array: np.ndarray) -> bytes:
    """Return the file of a tracked subspace whose stream has another part."""
    members = dict(members_of("subspace"))
    schema = json.loads(members[SCHEMA])
    attributes(schema)["_stream"]["content"][part] = node("NdArrayNode", "numpy.ndarray", type="numpy", file="777.npy")
    used = {part.get("file") for part in nodes_of(schema)}
    kept = {key: value for key, value in members.items() if key in used or key in (HEADER, SCHEMA)}
    return stored(seal({**kept, "777.npy": to_npy(array), SCHEMA: json.dumps(schema).encode()}))


def with_position(position: int) -> bytes:
    """Return a file whose random state reads at another position."""

    def change(schema: dict[str, Any]) -> None:
        for part in nodes_of(schema):
            if part["__loader__"] == "DictNode" and "pos" in part["content"]:
                part["content"]["pos"] = text(position)

    return with_tree("metric", change)


def with_pool(size: Any) -> bytes:
    """Return a file whose generator asks for a pool of another size."""
    return with_tree("kernel", lambda schema: generator(schema)["seed_seq"]["content"].update(pool_size=text(size)))


def with_generator(name: Any) -> bytes:
    """Return a file whose generator is of another kind."""
    return with_tree(
        "kernel", lambda schema: generator(schema)["bit_generator"]["content"].update(bit_generator=text(name))
    )


def generator(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of the generator of a tree."""
    return next(part["content"] for part in nodes_of(schema) if part["__loader__"] == "RandomGeneratorNode")


def with_sparse(parts: dict[str, np.ndarray]) -> bytes:
    """Return the file of a kernel whose samples are another sparse matrix."""
    members = members_of("kernel")
    name = next(name for name in members if name.endswith(".npz"))
    content = to_zip(((f"{key}.npy", to_npy(part)) for key, part in parts.items()), zipfile.ZIP_STORED)
    return stored(seal({**members, name: content}))


def with_neighbours(value: int) -> bytes:
    """Return a file whose tree of neighbours points elsewhere."""
    members = members_of("pipeline")
    schema = json.loads(members[SCHEMA])
    tree = next(part for part in nodes_of(schema) if part["__class__"].startswith("KDTree"))
    name = tree["content"]["content"][1]["file"]
    order = np.load(io.BytesIO(members[name])).copy()
    order[3] = value
    return stored(seal({**members, name: to_npy(order)}))


def headers() -> Iterator[tuple[str, bytes]]:
    """Headers that are missing, that lie, or that are of a newer format."""
    members = members_of("metric")
    rest = {name: part for name, part in members.items() if name != HEADER}
    yield "no header", stored(rest)
    for raw in (b"", b"null", b"[]", b"{}", b"[" * 100_000, b"\xff", b'{"format": "gramian model"}', b" " * (1 << 25)):
        yield f"header {raw[:12]!r}", stored({HEADER: raw, **rest})
    header = json.loads(members[HEADER])
    for key, value in (
        ("format_version", 2),
        ("format_version", 10**9),
        ("format_version", True),
        ("digests", {}),
        ("digests", 1),
    ):
        yield f"{key} {value}", stored({**members, HEADER: json.dumps({**header, key: value}).encode()})
    for key in header:
        lost = {name: value for name, value in header.items() if name != key}
        if key not in ("n_features", "rank"):
            yield f"no {key}", stored({**members, HEADER: json.dumps(lost).encode()})


def hostile_files() -> Iterator[tuple[str, bytes]]:
    """Return all hostile files with what they try."""
    for family in (callables, pickles, archives, trees, states, headers):
        yield from family()
