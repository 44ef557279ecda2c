"""Stored JSON is whole or absent, can be read in a diff, and names itself where it is damaged."""

import json
import os

import numpy as np
import pytest

from harness.store import format_json, read_json, to_plain, write_json, write_text


def test_rows_take_a_line_each():
    value = {"key": "a", "config": {"sizes": [1, 2]}, "records": [{"λ": 0.5, "x": [1, 2]}, {"λ": 1.0, "x": []}]}
    text = format_json(value)
    assert json.loads(text) == value
    assert '{"λ": 0.5, "x": [1, 2]},' in text.splitlines()
    assert '  "sizes": [1, 2]' in text.splitlines()


@pytest.mark.parametrize("value", [{}, [], {"a": []}, {"a": {}}, [{}], None, 1.5, "text", [[1], [2]], [{"a": 1}, 2]])
def test_every_plain_value_is_read_as_it_was_written(tmp_path, value):
    write_json(tmp_path / "value.json", value)
    assert read_json(tmp_path / "value.json", "") == value


@pytest.mark.parametrize("fault", ["write", "replace"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, fault):
    file = tmp_path / "results.json"
    write_json(file, {"a": 1})

    def fail(*arguments, **settings):
        raise OSError("disk full")

    monkeypatch.setattr(*((type(file), "write_text") if fault == "write" else (os, "replace")), fail)
    with pytest.raises(OSError, match="disk full"):
        write_json(file, {"a": 2})
    assert read_json(file, "") == {"a": 1}
    assert list(tmp_path.iterdir()) == [file]


def test_folders_are_made(tmp_path):
    write_text(tmp_path / "a" / "b" / "page.md", "λ\n")
    assert (tmp_path / "a" / "b" / "page.md").read_text(encoding="utf-8") == "λ\n"


@pytest.mark.parametrize("text", ["", '{"a": ', "[1, 2"])
def test_a_damaged_file_is_named_with_advice(tmp_path, text):
    file = tmp_path / "results.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"results\.json cannot be read: .*\. Run it again\.$"):
        read_json(file, "Run it again.")


def test_values_become_plain():
    rows = [{"a": np.float32(0.5), "b": np.arange(2), "c": (np.nan, np.inf, True, None), 4: np.bool_(False)}]
    assert to_plain(rows) == [{"a": 0.5, "b": [0, 1], "c": [None, None, True, None], "4": False}]
    with pytest.raises(TypeError, match=r"\{1\} is a set\. Rows and cases are numbers"):
        to_plain([{"a": {1}}])
