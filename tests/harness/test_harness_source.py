"""The digest of source code sees what changes a number, and nothing else."""

import pytest

from harness.source import reachable_source

MODULE = '''"""A module."""
from __future__ import annotations

import numpy as np
from typing import Any

from package.helping import power, unused
from gramian.geometries import Flat
from gramian import datasets
from harness.progress import Progress

#: A constant.
LIMIT = 3
OTHER = 4


def run(config: Any, progress: Progress) -> list:
    """Measure."""
    return [measure(case) for case in range(LIMIT)]


def measure(case):
    """Measure a case."""
    from gramian.solvers import Armijo

    return np.sqrt(power(case)), Flat(), Armijo(), f"{case:.2f}"


def plot(records):
    return OTHER
'''
HELPER = '''def power(x):
    """Square."""
    return base(x) ** 2


def base(x):
    return x


def unused(x):
    return -x
'''


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()

    def read(module=MODULE, helper=HELPER, **settings):
        (folder / "module.py").write_text(module)
        (folder / "helping.py").write_text(helper)
        return reachable_source(folder / "module.py", ("run",), **settings)

    return read


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Measure a case."""', '"""Return the row\n    of a case.\n    """'),
        ('    """Measure a case."""\n', ""),
        ("#: A constant.", "# The number of cases."),
        ("range(LIMIT)]", "range(\n        LIMIT\n    )]"),
        ("from gramian.geometries import Flat", "from gramian.manifolds.flat import Flat"),
        ("    from gramian.solvers import Armijo", "    from gramian.searches import Armijo"),
        ("from harness.progress import Progress", "from harness.bars import Progress"),
        ("from gramian import datasets\n", ""),
        ("return OTHER", "return -OTHER"),
        ("OTHER = 4", "OTHER = 5"),
        ("import power, unused", "import power"),
        ('f"{case:.2f}"', "f'{case:.2f}'"),
    ],
    ids=lambda text: text[:24],
)
def test_wording_and_moved_modules_are_not_seen(source, old, new):
    assert old in MODULE
    assert source() == source(MODULE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", "LIMIT = 3.0"),
        ("Flat()", "Polar()"),
        ("Flat()", "Flat(1)"),
        ("np.sqrt", "np.cbrt"),
        (":.2f", ":.3f"),
        ("import numpy as np", "import scipy as np"),
        ("case in range", "case, in range"),
        ("return [measure", "None\n    return [measure"),
    ],
)
def test_what_changes_numbers_is_seen(source, old, new):
    assert old in MODULE
    assert source() != source(MODULE.replace(old, new))


def test_helpers_count_as_far_as_they_are_used(source):
    assert source() != source(helper=HELPER.replace("** 2", "** 3"))
    assert source() != source(helper=HELPER.replace("return x", "return x + 0"))
    assert source() == source(helper=HELPER.replace("return -x", "return x"))
    assert source() == source(helper=HELPER.replace("Square.", "Return the square."))


def test_skipped_helpers_do_not_count(source):
    skipped = frozenset({"helping"})
    assert source(skipped=skipped) == source(helper=HELPER.replace("** 2", "** 3"), skipped=skipped)


def test_a_module_that_is_imported_whole_counts_whole(source):
    module = MODULE.replace("from package.helping import power, unused", "from package import helping")
    module = module.replace("power(case)", "helping.power(case)")
    assert source(module) != source(module, HELPER.replace("return -x", "return x"))


def test_imports_within_other_statements_are_followed(source):
    module = MODULE.replace(
        "from package.helping import power, unused\n",
        "try:\n    from package.helping import power\nexcept ImportError:\n    power = abs\n",
    )
    assert source(module) != source(module, HELPER.replace("** 2", "** 3"))
