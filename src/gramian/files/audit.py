"""The audit of a model file: its tree of objects is read as plain JSON, and every part of it must be one that is known.

skops rebuilds an object from a tree of nodes, each with a loader, a class and its module. The audit comes before that.
It imports nothing by a name that `rules` does not know.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType
from typing import Any

from gramian.files.archive import ARRAY, SPARSE, unpack_parts
from gramian.files.arrays import check_array, check_sparse
from gramian.files.rules import (
    ARRAYS,
    CONTAINERS,
    KEYS,
    SKLEARN_LOSSES,
    SPARSE_TYPES,
    is_function,
    is_named_tuple,
    is_object,
)
from gramian.files.tree import places_of

__all__ = ["Audit", "check_protocol"]

# Older protocols of skops have other nodes, which the audit does not know.
PROTOCOL = 2
DEEPEST = 120
# The pool of a seed sequence has 4 words; NumPy reserves memory for what it is told.
LARGEST_POOL = 64
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
COMMON = {"__class__", "__module__", "__loader__", "__id__"}

Node = dict[str, Any]


class Audit:
    """Checks a tree of nodes and the members that it names; afterwards `names` has the types to trust.

    Parameters
    ----------
    members : mapping of str to bytes
        The arrays of the file.
    """

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self.members = members
        self.names: set[str] = set()
        self.used: set[str] = set()
        self.seen: dict[int, Node] = {}

    def check(self, schema: Any) -> None:
        """Raise a ValueError that names the part of the model that is not known, or does not fit."""
        if not isinstance(schema, dict):
            raise ValueError("its schema is not a tree")
        check_protocol(schema)
        root = {key: value for key, value in schema.items() if key not in ("protocol", "_skops_version")}
        if root.get("__loader__") != "ObjectNode":
            raise ValueError("it holds no estimator")
        self.visit(root, "")
        if unused := self.members.keys() - self.used:
            raise ValueError(f"it has members that the model does not use: {', '.join(sorted(unused))[:200]}")

    def visit(self, node: Any, where: str, depth: int = 0) -> None:
        """Check one node and all below it; `where` names it in messages."""
        if not isinstance(node, dict) or depth > DEEPEST:
            raise ValueError(f"{where or 'the model'} is not stored as skops does, or nested too deeply")
        loader, module, name = (node.get(f"__{key}__") for key in ("loader", "module", "class"))
        if not (isinstance(loader, str) and isinstance(module, str) and isinstance(name, str)):
            raise ValueError(f"{where or 'the model'} has no type")
        check = CHECKS.get(loader)
        if check is None:
            raise ValueError(f"{where or 'the model'} is {describe(loader, module, name)}, which is not stored")
        self.remember(node, where)
        check(self, node, where, depth + 1)
        if loader != "JsonNode":
            self.names.add(f"{module}.{name}")

    def remember(self, node: Node, where: str) -> None:
        """Raise a ValueError if two different nodes have one identity: skops would take the first for both."""
        identity = node.get("__id__")
        if identity is None:
            return
        if not isinstance(identity, int) or isinstance(identity, bool) or identity <= 0:
            raise ValueError(f"{where} has an identity that is not a number")
        if self.seen.setdefault(identity, node) != node:
            raise ValueError(f"{where} has the identity of another part")

    def require(self, node: Node, where: str, keys: set[str], allowed: bool) -> None:
        """Raise a ValueError unless the type is allowed and the node has these keys, beside the common ones."""
        if not allowed:
            shown = describe(node["__loader__"], node["__module__"], node["__class__"])
            raise ValueError(f"{where or 'the model'} is {shown}, which is not stored")
        if node.keys() - COMMON != keys:
            raise ValueError(f"{where or 'the model'} is stored in another way than skops does")

    def member(self, node: Node, where: str, pattern: Any) -> str:
        """Return the name of a member that the node uses."""
        name = node["file"]
        if not isinstance(name, str) or not pattern.fullmatch(name) or name not in self.members:
            raise ValueError(f"{where} names a member that the file does not have")
        return name


def check_protocol(schema: Node) -> None:
    """Raise a ValueError if the tree is of a protocol of skops that has other nodes."""
    protocol = schema.get("protocol")
    if not isinstance(protocol, int) or isinstance(protocol, bool) or protocol < PROTOCOL:
        raise ValueError(f"it has protocol {str(protocol)[:20]} of skops; expected {PROTOCOL} or more")


def describe(loader: str, module: str, name: str) -> str:
    """Return words for a type in messages."""
    full = f"{module}.{name}"[:160]
    if isinstance(getattr(builtins, name, None), BuiltinFunctionType) and module == "builtins":
        return f"the function {name!r}"
    if loader in ("FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode"):
        return f"the function {full!r}"
    if loader == "TreeNode" or name == "TreePredictor":
        return f"a decision tree ({full})"
    return f"of type {full!r}"


def full_name(node: Node) -> str:
    """Return the type of a node with its module."""
    return f"{node['__module__']}.{node['__class__']}"


def check_object(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check an object and its attributes: those of estimators are a dict, those of compiled classes may be a tuple."""
    keys = {"content"} if "content" in node else set()
    audit.require(node, where, keys, is_object(node["__module__"], node["__class__"]))
    if not keys:
        return
    content = node["content"]
    if not isinstance(content, dict) or content.get("__loader__") not in ("DictNode", "TupleNode", "JsonNode"):
        raise ValueError(f"{where or 'the model'} has no attributes")
    for name in places_of(node["__module__"]):
        held = content["content"].get(name) if isinstance(content.get("content"), dict) else None
        if held is not None and (not isinstance(held, dict) or held.get("content") != "null"):
            raise ValueError(f"{where}.{name} names a place in the file system".lstrip("."))
    audit.visit(content, where, depth)


def check_dict(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a dict: its keys are text or numbers, each with its type."""
    audit.require(node, where, {"content", "key_types"}, full_name(node) in CONTAINERS["DictNode"])
    content, types = node["content"], node["key_types"]
    if not isinstance(content, dict) or not isinstance(types, dict) or types.get("__loader__") != "ListNode":
        raise ValueError(f"{where} is not a dict")
    kinds = types.get("content")
    if not isinstance(kinds, list) or len(kinds) != len(content):
        raise ValueError(f"{where} has keys without types, or two that are written alike")
    if any(not isinstance(kind, dict) or kind.get("__loader__") != "TypeNode" for kind in kinds):
        raise ValueError(f"{where} has keys whose types are not types")
    audit.visit(types, where, depth)
    for key, value in content.items():
        audit.visit(value, f"{where}.{key}".lstrip(".")[:200], depth)


def check_items(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a list, a set or a tuple; a tuple may be a NamedTuple of gramian."""
    known = full_name(node) in CONTAINERS.get(node["__loader__"], ())
    if node["__loader__"] == "TupleNode":
        known = is_named_tuple(node["__module__"], node["__class__"])
    audit.require(node, where, {"content"}, known)
    if not isinstance(node["content"], list):
        raise ValueError(f"{where} has no items")
    for index, item in enumerate(node["content"]):
        audit.visit(item, f"{where}[{index}]", depth)


def check_call(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a call with one argument: it makes a dict or a frozenset of a list, or a number of a plain value."""
    number = full_name(node) in ARRAYS - {"numpy.ndarray"}
    audit.require(node, where, {"content"}, number or full_name(node) in CONTAINERS[node["__loader__"]])
    content = node["content"]
    arguments = content.get("content") if isinstance(content, dict) else None
    expected = "JsonNode" if number else "ListNode"
    if (
        not isinstance(arguments, list)
        or content.get("__loader__") != "TupleNode"
        or [item.get("__loader__") if isinstance(item, dict) else None for item in arguments] != [expected]
    ):
        raise ValueError(f"{where} is not made of one {'number' if number else 'list'}")
    audit.visit(content, where, depth)


def check_json(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a number, a text, True, False or None."""
    audit.require(node, where, {"content", "is_json"}, full_name(node) == "builtins.str")
    if not isinstance(node["content"], str):
        raise ValueError(f"{where} is no value")
    value = json.loads(node["content"])
    if not (value is None or isinstance(value, str | int | float | bool)):
        raise ValueError(f"{where} is no value")


def check_numpy(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check an array: of numbers or text in a member, or of Python's values, in one dimension."""
    if node.get("type") == "json":
        audit.require(node, where, {"type", "content", "shape"}, full_name(node) == "numpy.ndarray")
        check_values(audit, node, where, depth)
        return
    audit.require(node, where, {"type", "file"}, full_name(node) in ARRAYS and node.get("type") == "numpy")
    name = audit.member(node, where, ARRAY)
    array = check_array(audit.members[name], name)
    if full_name(node) != "numpy.ndarray" and array.shape != ():
        raise ValueError(f"{where} is a number, but {name} has shape {array.shape}")
    audit.used.add(name)


def check_values(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check an array of Python's values, in one dimension."""
    content, shape = node["content"], node["shape"]
    sizes = shape.get("content") if isinstance(shape, dict) else None
    if not isinstance(content, list) or not isinstance(sizes, list) or shape.get("__loader__") != "TupleNode":
        raise ValueError(f"{where} is no array")
    if len(sizes) != 1:
        raise ValueError(f"{where} is an array of objects in {len(sizes)} dimensions, which is not stored")
    audit.visit(shape, where, depth)
    for index, item in enumerate(content):
        plain = isinstance(item, dict) and (item.get("__loader__") == "JsonNode" or full_name(item) in ARRAYS)
        if not plain:
            raise ValueError(f"{where}[{index}] is an object in an array, which is not stored")
        audit.visit(item, f"{where}[{index}]", depth)


def check_sparse_matrix(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a sparse matrix and its indices."""
    audit.require(node, where, {"type", "file"}, full_name(node) in SPARSE_TYPES and node.get("type") == "scipy")
    name = audit.member(node, where, SPARSE)
    check_sparse(unpack_parts(audit.members[name]), name)
    audit.used.add(name)


def check_type(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a type that is a value itself."""
    audit.require(node, where, set(), full_name(node) in KEYS)


def check_function(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a function that is named."""
    audit.require(node, where, set(), is_function(node["__module__"], node["__class__"]))


def check_slice(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a slice, whose parts are numbers or None."""
    audit.require(node, where, {"content"}, full_name(node) in CONTAINERS["SliceNode"])
    parts = node["content"]
    if not isinstance(parts, dict) or parts.keys() != {"start", "stop", "step"}:
        raise ValueError(f"{where} is no slice")
    if not all(part is None or isinstance(part, int) for part in parts.values()):
        raise ValueError(f"{where} is a slice of parts that are not numbers")


def check_masked(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check an array with masked entries."""
    audit.require(node, where, {"content"}, full_name(node) in CONTAINERS["MaskedArrayNode"])
    parts = node["content"]
    if not isinstance(parts, dict) or parts.keys() != {"data", "mask"}:
        raise ValueError(f"{where} is no masked array")
    for part in parts.values():
        if not isinstance(part, dict) or part.get("__loader__") != "NdArrayNode":
            raise ValueError(f"{where} is no masked array")
        audit.visit(part, where, depth)


def check_inner(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a type of numbers, which holds an array, or a random state, which holds a dict."""
    loader = node["__loader__"]
    audit.require(node, where, {"content"}, full_name(node) in CONTAINERS[loader])
    content, inner = node["content"], "NdArrayNode" if loader == "DTypeNode" else "DictNode"
    if not isinstance(content, dict) or content.get("__loader__") != inner:
        raise ValueError(f"{where} is not stored as skops does")
    audit.visit(content, where, depth)


def check_generator(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a random generator: its kind is known, and so is the size of its pool."""
    audit.require(node, where, {"content"}, full_name(node) in CONTAINERS["RandomGeneratorNode"])
    parts = node["content"]
    if not isinstance(parts, dict) or parts.keys() != {"bit_generator", "seed_seq"}:
        raise ValueError(f"{where} is no random generator")
    for part in parts.values():
        if not isinstance(part, dict) or part.get("__loader__") != "DictNode":
            raise ValueError(f"{where} is no random generator")
        audit.visit(part, where, depth)
    kind, pool = value_of(parts["bit_generator"], "bit_generator"), value_of(parts["seed_seq"], "pool_size")
    if kind not in GENERATORS or not isinstance(pool, int) or not 0 < pool <= LARGEST_POOL:
        raise ValueError(f"{where} is a random generator of another kind")


def check_loss(audit: Audit, node: Node, where: str, depth: int) -> None:
    """Check a compiled loss of scikit-learn, which is made of numbers and has nothing else."""
    audit.require(node, where, {"__reduce__", "content"}, full_name(node) in SKLEARN_LOSSES)
    made, content = node["__reduce__"], node["content"]
    arguments = made.get("args") if isinstance(made, dict) else None
    if not isinstance(arguments, dict) or arguments.get("__loader__") != "TupleNode":
        raise ValueError(f"{where} is no loss")
    plain = isinstance(arguments.get("content"), list) and all(
        isinstance(item, dict) and item.get("__loader__") == "JsonNode" for item in arguments["content"]
    )
    if not plain or not isinstance(content, dict) or content.get("content"):
        raise ValueError(f"{where} is no loss")
    audit.visit(arguments, where, depth)
    audit.visit(content, where, depth)


def value_of(node: Node, key: str) -> Any:
    """Return a plain value of a dict, or None."""
    inner = node["content"].get(key)
    return json.loads(inner["content"]) if inner is not None and inner["__loader__"] == "JsonNode" else None


CHECKS: dict[str, Callable[[Audit, Node, str, int], None]] = {
    "ConstructorFromReduceNode": check_call,
    "DTypeNode": check_inner,
    "DictNode": check_dict,
    "FunctionNode": check_function,
    "JsonNode": check_json,
    "ListNode": check_items,
    "LossNode": check_loss,
    "MaskedArrayNode": check_masked,
    "NdArrayNode": check_numpy,
    "ObjectNode": check_object,
    "RandomGeneratorNode": check_generator,
    "RandomStateNode": check_inner,
    "SetNode": check_items,
    "SliceNode": check_slice,
    "SparseMatrixNode": check_sparse_matrix,
    "TupleNode": check_items,
    "TypeNode": check_type,
}
