"""Values as a tree of JSON and a list of arrays, and back: nothing is pickled, and no code is run.

The classes of points, of the memory of solvers and of results are stored by name. Only classes of this package are
found again. One array that occurs twice is stored once, and is one array again: NumPy multiplies a matrix by its own
transpose in another way, and with other rounding errors, than by that of a copy.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["Decoder", "Encoder", "is_storable"]

PACKAGE = __name__.split(".")[0]
BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}
PLAIN = (type(None), bool, int, float, str)


class Encoder:
    """Turns values into trees; `arrays` has the arrays that they refer to."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}
        # An object that is freed could share its id with a later one.
        self._kept: list[Any] = []

    def encode(self, value: Any) -> Any:
        """Return a tree of what JSON can store; raise a TypeError if the value has a part that cannot be stored."""
        if type(value) in PLAIN:
            return value
        if isinstance(value, np.ndarray) and value.dtype == object and all(type(item) is str for item in value.flat):
            return {"texts": value.tolist()}
        if isinstance(value, np.ndarray | np.generic):
            return {"array": self.add(value), "scalar": isinstance(value, np.generic)}
        if isinstance(value, np.random.Generator):
            return {"generator": self.encode(value.bit_generator.state)}
        if isinstance(value, Enum):
            return {"enum": name_of(type(value)), "member": value.name}
        if isinstance(value, list):
            return [self.encode(item) for item in value]
        if isinstance(value, tuple):
            items = [self.encode(item) for item in value]
            return {"named": name_of(type(value)), "items": items} if hasattr(value, "_fields") else {"tuple": items}
        if isinstance(value, dict):
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        variables = {field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else None
        if variables is None and not hasattr(value, "__dict__"):
            raise TypeError(f"a {type(value).__name__} cannot be stored")
        found = vars(value) if variables is None else variables
        return {"object": name_of(type(value)), "variables": {key: self.encode(item) for key, item in found.items()}}

    def add(self, value: Any) -> str:
        """Return the name of an array among the stored ones; the same array has the same name."""
        if value.dtype.hasobject:
            raise TypeError("an array of objects cannot be stored")
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"a{len(self.arrays)}"
            self.arrays[name] = np.asarray(value)
            self._kept.append(value)
        return name


class Decoder:
    """Turns trees into values, with the arrays that the encoder collected."""

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays

    def decode(self, tree: Any) -> Any:
        """Return the value of a tree; raise a ValueError if it names a class that is none of this package's."""
        if type(tree) in PLAIN:
            return tree
        if isinstance(tree, list):
            return [self.decode(item) for item in tree]
        if "array" in tree:
            array = self.arrays[tree["array"]]
            return array[()] if tree["scalar"] else array
        if "texts" in tree:
            return np.array(tree["texts"], dtype=object)
        if "generator" in tree:
            state = self.decode(tree["generator"])
            bits = BIT_GENERATORS[state["bit_generator"]]()
            bits.state = state
            return np.random.Generator(bits)
        if "tuple" in tree:
            return tuple(self.decode(item) for item in tree["tuple"])
        if "dict" in tree:
            return {self.decode(key): self.decode(item) for key, item in tree["dict"]}
        if "enum" in tree:
            return find_class(tree["enum"])[tree["member"]]
        if "named" in tree:
            return tuple.__new__(find_class(tree["named"], tuple), [self.decode(item) for item in tree["items"]])
        value = object.__new__(find_class(tree["object"]))
        for key, item in tree["variables"].items():
            # Frozen dataclasses refuse assignments.
            object.__setattr__(value, key, self.decode(item))
        return value


def is_storable(kind: type) -> bool:
    """Return True for a class of this package that is found by its name."""
    return kind.__module__.split(".")[0] == PACKAGE and "<locals>" not in kind.__qualname__


def name_of(kind: type) -> str:
    """Return the name under which a class is found again; raise a TypeError for a class of another package."""
    if not is_storable(kind):
        raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot be stored: it is no class of {PACKAGE}")
    return f"{kind.__module__}:{kind.__qualname__}"


def find_class(name: str, base: type = object) -> Any:
    """Return the class of a name; raise a ValueError unless it is a class of this package, and of its base."""
    module, _, path = name.partition(":")
    if module.split(".")[0] != PACKAGE:
        raise ValueError(f"{name!r} is no class of {PACKAGE}")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not isinstance(found, type) or not issubclass(found, base) or not is_storable(found):
        raise ValueError(f"{name!r} is no class of {PACKAGE}")
    return found
