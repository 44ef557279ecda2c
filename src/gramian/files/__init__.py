"""Files of models: written atomically, read without running anything, and exported as plain arrays."""

from gramian.files.errors import FileError
from gramian.files.export import export_map
from gramian.files.header import Header, read_header
from gramian.files.storage import load, save

__all__ = ["FileError", "Header", "export_map", "load", "read_header", "save"]
