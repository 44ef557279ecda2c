"""docs/command-line.md shows the real help: every command, every option, and examples that parse."""

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("typer")
from typer.main import get_command

from gramian.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
COMMANDS = get_command(app).commands


def options_of(command):
    """The long names of the options of a command, and their help."""
    for parameter in command.params:
        names = [name for name in parameter.opts if name.startswith("--")]
        if names and names != ["--help"]:
            yield names[-1], re.sub(r"\[/?bold\]", "", parameter.help or "")


def section_of(name):
    """The part of the page on a command."""
    found = re.search(rf"^## gramian {name}\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)
    assert found, f"the page has no section 'gramian {name}'"
    return found[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_has_every_command_with_its_options_as_in_the_help(name):
    section, command = section_of(name), COMMANDS[name]
    assert command.help.strip().split("\n")[0] in section
    rows = dict(re.findall(r"^\| `(--[a-z-]+)[^|]*\| (.*?) \|$", section, re.M))
    assert rows == dict(options_of(command))


def test_the_page_has_no_other_commands():
    assert re.findall(r"^## gramian (\w+)$", PAGE, re.M) == list(COMMANDS)


def examples():
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.S)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("$ gramian ")]
    epilogs = [command.epilog or "" for command in COMMANDS.values()]
    lines += [line for text in epilogs for line in re.findall(r"gramian \w+ .*", text)]
    return [line.removeprefix("$ ").split("   (")[0].split("  #")[0] for line in lines]


@pytest.mark.parametrize("line", examples())
def test_examples_are_parsed(line):
    _, name, *arguments = shlex.split(line)
    command = COMMANDS[name]
    context = command.make_context(name, arguments, resilient_parsing=False)
    assert not context.args


def test_there_are_examples_of_all_commands():
    assert {line.split()[1] for line in examples()} == set(COMMANDS)
