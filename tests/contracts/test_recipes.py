"""The recipes of CONTRIBUTING, carried out on a copy of the package: each new part keeps its contract."""

import ast
import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()

LOSS = """
import numpy as np
from gramian import PSDRegressor
from gramian.contracts import check_loss
from gramian.losses import LOSSES
for loss in LOSSES["log-cosh"].examples:
    check_loss(loss)
rng = np.random.default_rng(0)
X = rng.standard_normal((200, 4))
model = PSDRegressor(1, loss="log-cosh", random_state=0).fit(X, X[:, 0] ** 2)
np.testing.assert_allclose(model.predict(X), X[:, 0] ** 2, atol=1e-2)
"""
MEASUREMENT = """
import numpy as np
from gramian import Block, Problem, Term, minimize
from gramian.contracts import check_measurement
from gramian.features import Array
from gramian.geometries import Scaled
from gramian.measurements import MEASUREMENTS
from gramian.solvers import ConjugateGradient
for dtype in (np.float32, np.float64):
    measurement, X, matrices = MEASUREMENTS["products"].example(np.random.default_rng(0), dtype)
    check_measurement(measurement, Array(X), matrices)
target = measurement.predict(X[:, :1])
problem = Problem([Block(Array(X), [Term(measurement, target)])])
result = minimize(problem, ConjugateGradient(), Scaled().point(np.ones((4, 1))), tol=1e-10)
assert result.cost < 1e-6 * problem.value_at_zero, result
"""
GEOMETRY = """
import numpy as np
from gramian import PSDRegressor
from gramian.contracts import check_geometry
from gramian.geometries import GEOMETRIES
for geometry in GEOMETRIES["relative"].examples:
    check_geometry(geometry)
X = np.random.default_rng(0).standard_normal((200, 4))
model = PSDRegressor(1, geometry="relative", random_state=0).fit(X, X[:, 0] ** 2)
np.testing.assert_allclose(model.predict(X), X[:, 0] ** 2, atol=1e-2)
"""
SUPERVISION = """
import numpy as np
from gramian import MetricLearner
from gramian.supervision import SUPERVISIONS
X = np.random.default_rng(0).standard_normal((200, 4))
kind = SUPERVISIONS["near targets"]
model = MetricLearner(1, random_state=0).fit_supervised(X, kind(2 * X[:, 1]))
np.testing.assert_allclose(np.abs(model.factor_).ravel(), [0, 2, 0, 0], atol=0.1)
"""
RECIPES = {
    "A loss": ("losses/log_cosh.py", LOSS),
    "A measurement": ("measurements/products.py", MEASUREMENT),
    "A geometry": ("geometries/relative.py", GEOMETRY),
    "A kind of supervision": ("supervision/near_targets.py", SUPERVISION),
}


def section(title):
    return PAGE.partition(f"### {title}\n")[2].partition("\n### ")[0]


def shown_file(title):
    """Return the source of a recipe's new file: its first example."""
    block = re.search(r"```python\n(.*?)```", section(title), re.S)[1]
    return "".join(example.source for example in doctest.DocTestParser().get_examples(block))


def shown_diffs(title):
    return re.findall(r"```diff\n(.*?)```", section(title), re.S)


@pytest.fixture
def copy(tmp_path):
    """A copy of the package; with what is compiled already, so that it starts at once."""
    shutil.copytree(ROOT / "src", tmp_path / "src")
    return tmp_path


def apply_diff(diff, folder):
    # Git looks for a repository above the folder, and would leave out files that are not in it.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = ["git", "apply", "--verbose", "-"]
    done = subprocess.run(command, input=diff, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def run_python(code, folder):
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_gives_a_part_that_keeps_its_contract(title, copy):
    name, code = RECIPES[title]
    assert f"`{name}`" in section(title)
    path = copy / "src" / "gramian" / name
    assert not path.exists()
    path.write_text(shown_file(title))
    (diff,) = shown_diffs(title)
    apply_diff(diff, copy)
    where = f"import gramian; assert gramian.__file__.startswith({str(copy)!r})\n"
    done = run_python(where + code, copy)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("title", RECIPES)
def test_a_part_is_one_file_and_one_line_of_a_registry(title):
    kinds = {type(node) for node in ast.parse(shown_file(title)).body}
    assert kinds <= {ast.Import, ast.ImportFrom, ast.ClassDef, ast.Assign}
    (diff,) = shown_diffs(title)
    changed = [line for line in diff.splitlines() if re.match(r"[+-](?![+-])", line)]
    imported, registered = changed
    assert imported.startswith("+from gramian.")
    assert re.fullmatch(r'\+    "[a-z -]+": \w+,', registered)
