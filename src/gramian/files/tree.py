"""The tree of a model, as skops writes it, in a form that depends on the model only."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any

import numpy as np

__all__ = ["normalise_tree", "places_of"]

Node = dict[str, Any]
# The names of these differ between versions of NumPy; those that all versions have.
RENAMED = {"numpy.bool": "bool_", "numpy.str": "str_", "numpy.bytes": "bytes_"}
# Numbers of NumPy that JSON holds to the last bit.
SCALARS = {
    *("bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
}
# Settings that are places in the file system are not stored: a file must not say where to write or read.
PLACES = {"gramian": ("checkpoint",), "sklearn": ("memory",)}
VALUES = {"JsonNode", "TypeNode", "FunctionNode"}


def normalise_tree(schema: Node, members: dict[str, bytes]) -> tuple[Node, dict[str, bytes]]:
    """Return the tree with parts numbered in their order instead of by address, and the members by their new names.

    So equal models give equal files. Dicts with keys that JSON does not know, such as None, are stored as lists of
    pairs.
    """
    work = TreeNormaliser(members)
    count_identities(schema, work.counts)
    return work.visit(schema), work.renamed


class TreeNormaliser:
    """Rewrites the nodes of a tree, one after the other."""

    def __init__(self, members: dict[str, bytes]) -> None:
        self.members = members
        self.renamed: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self.counts: dict[int, int] = {}
        self.numbers: dict[int, int] = {}

    def visit(self, value: Any) -> Any:
        """Return a node, or what is in one, rewritten."""
        if isinstance(value, list):
            return [self.visit(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "__loader__" not in value:
            return {key: self.visit(item) for key, item in value.items()}
        return self.visit_node(value)

    def visit_node(self, node: Node) -> Node:
        """Return a node rewritten."""
        loader = node["__loader__"]
        if loader == "NdArrayNode" and node["__class__"] in SCALARS and node["__module__"] == "numpy":
            return self.visit_scalar(node)
        identity = node.get("__id__")
        kept = {key: value for key, value in node.items() if key not in ("__id__", "file")}
        if loader == "DictNode" and has_odd_keys(node):
            kept = {"protocol": node["protocol"]} if "protocol" in node else {}
            kept |= to_pairs(node)
        if loader == "ObjectNode":
            kept["content"] = without_places(kept.get("content"), node["__module__"])
        new = {key: self.visit(value) for key, value in kept.items() if value is not None}
        if loader == "NdArrayNode":
            new["__class__"] = RENAMED.get(f"{node['__module__']}.{node['__class__']}", node["__class__"])
            new["__class__"] = "ndarray" if new["__class__"] == "memmap" else new["__class__"]
        if loader == "LossNode" and node["__module__"] == "_loss":
            # Compiled classes of scikit-learn 1.6 do not know their package.
            new["__module__"] = "sklearn._loss._loss"
        if loader == "TypeNode":
            new["__class__"] = RENAMED.get(f"{node['__module__']}.{node['__class__']}", node["__class__"])
        if loader == "FunctionNode" and isinstance(getattr(np, node["__class__"], None), np.ufunc):
            new["__module__"] = "numpy" if node["__module__"].startswith("numpy.") else node["__module__"]
        if "file" in node:
            new["file"] = self.rename(node["file"])
        if identity is not None and loader not in VALUES and self.counts[identity] > 1:
            new["__id__"] = self.numbers.setdefault(identity, len(self.numbers) + 1)
        return new

    def visit_scalar(self, node: Node) -> Node:
        """Return the node of a number of NumPy as a call of its type: skops would store it in a member of its own."""
        value = np.load(io.BytesIO(self.members[node["file"]]), allow_pickle=False).item()
        name = RENAMED.get(f"numpy.{node['__class__']}", node["__class__"])
        call = {"__class__": name, "__module__": "numpy", "__loader__": "ConstructorFromReduceNode"}
        return {**call, "content": tuple_node([json_node(value)])}

    def rename(self, name: str) -> str:
        """Return the new name of a member; members of equal content are stored once."""
        content, suffix = self.members[name], name.rpartition(".")[2]
        key = f"{hashlib.sha256(content).hexdigest()}.{suffix}"
        if key not in self.names:
            self.names[key] = f"{len(self.names)}.{suffix}"
            self.renamed[self.names[key]] = content
        return self.names[key]


def places_of(module: str) -> tuple[str, ...]:
    """Return the settings of classes of a module that are places in the file system."""
    return PLACES.get(module.partition(".")[0], ())


def without_places(content: Any, module: str) -> Any:
    """Return the attributes of an object, in which settings that are places are None."""
    if not isinstance(content, dict) or content.get("__loader__") != "DictNode":
        return content
    places = {name: json_node(None) for name in places_of(module) if name in content["content"]}
    return {**content, "content": {**content["content"], **places}}


def count_identities(value: Any, counts: dict[int, int]) -> None:
    """Count how often each identity occurs below a node."""
    if isinstance(value, list):
        for item in value:
            count_identities(item, counts)
    elif isinstance(value, dict):
        if isinstance(identity := value.get("__id__"), int):
            counts[identity] = counts.get(identity, 0) + 1
        for item in value.values():
            count_identities(item, counts)


def has_odd_keys(node: Node) -> bool:
    """Return True if a key of a dict is None or a bool, which JSON writes as texts that skops does not read back."""
    return any(kind["__class__"] in ("NoneType", "bool") for kind in node["key_types"]["content"])


def to_pairs(node: Node) -> Node:
    """Return the node of a dict as a call of `dict` with a list of its pairs."""
    kinds = [kind["__class__"] for kind in node["key_types"]["content"]]
    pairs = [
        tuple_node([json_node(read_key(key, kind)), value])
        for (key, value), kind in zip(node["content"].items(), kinds, strict=True)
    ]
    items = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": pairs}
    call = {"__class__": "dict", "__module__": "builtins", "__loader__": "ConstructorFromReduceNode"}
    return {**call, "content": tuple_node([items])}


def read_key(key: str, kind: str) -> Any:
    """Return the key of a dict from its text in JSON."""
    if kind in ("NoneType", "bool"):
        return json.loads(key)
    return key if kind in ("str", "str_") else json.loads(key)


def json_node(value: Any) -> Node:
    """Return the node of a plain value."""
    content = json.dumps(value)
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": content, "is_json": True}


def tuple_node(content: list[Node]) -> Node:
    """Return the node of a tuple."""
    return {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": content}
