"""The documents name every registered choice, their links resolve, and public names have examples."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.fixes import parse_version

import gramian
from benchmarks.readme import PAGE, accuracy_table, fill_tables, speed_table
from benchmarks.rows import Row
from gramian import MetricLearner
from gramian.geometries import GEOMETRIES
from gramian.solvers import SOLVERS

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CHOICES = (ROOT / "docs" / "choices.md").read_text()


@pytest.mark.parametrize("name", [*GEOMETRIES, *SOLVERS])
def test_the_page_on_choices_names_every_choice(name):
    assert f'`"{name}"' in CHOICES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_is_that_of_the_stored_figures():
    page = PAGE.read_text()
    assert fill_tables(page) == page


def test_figures_of_the_readme_change_with_what_is_stored(monkeypatch):
    task = "5-NN errors on 3 sets, rank 2"
    row = Row(task, "LDA", 0.5, 0.9, detail="Euclid 9.1, PCA 8.2, LDA 7.3, NCA 6.4, ours 1.5")
    for detail, cell in (("of 3; points: a_b 2.5, c 1.2", "2 sets; most on a b, 2.5"), ("of 3", "none")):
        lost = Row(f"{task}: sets behind", "LDA", 2, 0, at_most=True, detail=detail)
        monkeypatch.setattr("benchmarks.readme.load_rows", lambda names, lost=lost: [row, lost])
        assert f"| 2 | 3 | 9.1 | 8.2 | 7.3 | 6.4 | **1.5** | {cell} |" in accuracy_table()
    with pytest.raises(ValueError, match="no row"):
        speed_table()


def test_a_page_without_a_place_for_a_table_is_an_error():
    with pytest.raises(ValueError, match="0 places for the table 'accuracy'"):
        fill_tables("# Nothing")


GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
EXAMPLES = {path.stem for path in (ROOT / "examples").glob("plot_*.py")}


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_a_guide_has_a_picture_a_formula_the_settings_and_what_goes_wrong(guide):
    text = guide.read_text()
    pictures = re.findall(
        r"```\{figure\} \.\./gallery/images/sphx_glr_(plot_\w+)_\d{3}\.png\n:target: (\S+)\n:alt: .", text
    )
    assert pictures
    for example, target in pictures:
        assert example in EXAMPLES
        assert target == f"../gallery/{example}.html"
    assert re.search(r"^\$\$\n.*?\n\$\$$", text, re.M | re.S)
    for title in ("Settings that matter", "What goes wrong, and how one sees it", "Examples with pictures"):
        section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
        assert section.count("\n| ") >= 4 or "minigallery" in section, title


def public_names():
    """The functions and classes in `__all__` of the package, of its subpackages and of its public modules."""
    packages = [f"gramian.{each.name}" for each in pkgutil.iter_modules(gramian.__path__) if each.ispkg]
    public = [name for name in packages if "._" not in name] + [f"gramian.{name}" for name in gramian._MODULES]
    for module in ["gramian", "gramian.images", "gramian.situation", *sorted(set(public))]:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if value is not Any and (inspect.isclass(value) or inspect.isfunction(value)):
                yield pytest.param(value, id=f"{module}.{name}")


@pytest.mark.parametrize("value", [*public_names(), MetricLearner.fit_supervised])
def test_every_public_name_has_an_example(value):
    assert ">>>" in value.__doc__


def quoted_warnings():
    """The warnings that the page on messages quotes, each as its parts; dots stand between for what differs."""
    table = (ROOT / "docs" / "messages.md").read_text().partition("## Warnings")[2].partition("## Errors")[0]
    quoted = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    return [[part.strip(" :") for part in text.split("...")] for text in quoted]


def text_of(node):
    """The text of a string in the source, with dots for what is put in; None of other expressions."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "..." for part in node.values)
    return None


def issued_warnings():
    """The texts of all warnings that the package issues, by the file."""
    for path in sorted(Path(gramian.__file__).parent.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef) or function.name == "warn_user":
                continue
            values = {}
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    values.setdefault(node.targets[0].id, []).append(text_of(node.value))
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in ("warn_user", "warnings.warn"):
                    first = node.args[0]
                    texts = values[first.id] if isinstance(first, ast.Name) else [text_of(first)]
                    yield from ((path.name, text) for text in texts)


def test_the_page_on_messages_quotes_what_the_source_says():
    files = Path(gramian.__file__).parent.rglob("*.py")
    source = "\n".join(re.sub(r'"\s*\n\s*f?"', "", path.read_text()) for path in files)
    assert [part for parts in quoted_warnings() for part in parts if part not in source] == []


def test_the_page_on_messages_has_every_warning_of_the_source():
    issued, quoted = list(issued_warnings()), quoted_warnings()
    assert len(issued) >= 20
    assert all(text is not None for _, text in issued), "a warning that is no string cannot be looked for"
    assert [each for each in issued if not any(all(part in each[1] for part in parts) for parts in quoted)] == []


def quoted_errors():
    """The errors that the page on messages quotes, in the first column; those of scikit-learn are marked.

    Those of a later scikit-learn than the installed one are left out.
    """
    page = (ROOT / "docs" / "messages.md").read_text().partition("## Errors")[2]
    for section in page.split("\n### "):
        foreign = section.startswith("Messages of scikit-learn")
        lines = [line for line in section.splitlines() if line.startswith("| ") and "`" in line]
        cells = [line.split("|")[1] for line in lines if not is_of_later_scikit_learn(line)]
        yield from ((quote, foreign) for cell in cells for quote in re.findall(r"`([^`]+)`", cell))


def is_of_later_scikit_learn(line):
    """True if a line says "of scikit-learn 1.7 and later", and the installed version is older."""
    since = re.search(r"of scikit-learn ([0-9.]+) and later", line)
    return since is not None and parse_version(sklearn.__version__) < parse_version(since[1])


def texts_of(files):
    """All strings in source files, with dots for what is put in; docstrings are left out."""
    texts = []
    for path in files:
        tree = ast.parse(path.read_text())
        statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts += [text_of(node) for node in ast.walk(tree) if id(node) not in statements]
    return [text for text in texts if text]


def is_said(quote, texts):
    """True if one of the texts has the parts of a quote, between its dots, in their order."""
    pattern = ".*".join(re.escape(part.strip()) for part in quote.split("..."))
    return any(re.search(pattern, text, re.S) for text in texts)


def test_the_page_on_messages_quotes_errors_as_they_are_raised():
    own = texts_of(Path(gramian.__file__).parent.rglob("*.py"))
    scikit = texts_of([*Path(sklearn.__file__).parent.joinpath("utils").glob("*.py")])
    quoted = list(quoted_errors())
    assert len(quoted) >= 40
    assert {foreign for _, foreign in quoted} == {True, False}
    assert [quote for quote, _ in quoted if not re.search(r"[a-z]{5}", quote)] == []
    assert [quote for quote, foreign in quoted if not is_said(quote, scikit if foreign else own)] == []


def test_a_quote_that_nothing_says_is_found():
    texts = ["pairs[...] = ... joins a sample to itself"]
    assert is_said("pairs[...] = ... joins a sample", texts)
    assert not is_said("pairs[...] = ... joins two samples", texts)
    assert not is_said("joins a sample ... pairs", texts)


METRIC_LEARN = (
    *("Constraints", "Covariance", "ITML", "ITML_Supervised", "LFDA", "LMNN", "LSML", "LSML_Supervised", "MLKR", "MMC"),
    *("MMC_Supervised", "NCA", "RCA", "RCA_Supervised", "SCML", "SCML_Supervised", "SDML", "SDML_Supervised"),
    *("balance_param", "basis", "batch_size", "beta", "chunk_size", "convergence_tol", "diagonal", "diagonal_c"),
    *("embedding_type", "gamma", "init", "k", "k_genuine", "k_impostor", "learn_rate", "max_iter", "max_proj"),
    *("min_iter", "n_basis", "n_chunks", "n_components", "n_constraints", "n_neighbors", "output_iter", "preprocessor"),
    *("prior", "random_state", "regularization", "sparsity_param", "tol", "verbose", "weights"),
)
PYMANOPT = (
    *("PSDFixedRank", "PSDFixedRankComplex", "SymmetricPositiveDefinite", "Grassmann", "Euclidean", "Elliptope"),
    *("SteepestDescent", "ConjugateGradient", "TrustRegions", "NelderMead", "ParticleSwarm", "verbosity"),
    *("log_verbosity", "max_time", "max_iterations", "min_gradient_norm", "min_step_size", "max_cost_evaluations"),
    *("autograd", "jax", "pytorch", "tensorflow", "numpy", "check_gradient", "check_hessian"),
)


@pytest.mark.parametrize(("page", "names"), [("metric-learn", METRIC_LEARN), ("from-pymanopt", PYMANOPT)])
def test_a_page_for_users_of_another_library_names_what_it_has(page, names):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    assert [name for name in names if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", text)] == []


def test_the_page_for_users_of_nca_names_its_parameters_and_attributes():
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    nca = NeighborhoodComponentsAnalysis(1, max_iter=1, tol=1.0, random_state=0).fit(
        [[0.0, 1], [1, 0], [1, 1]], [0, 1, 0]
    )
    text = (ROOT / "docs" / "from-nca.md").read_text()
    names = [*nca.get_params(), *(name for name in vars(nca) if name.endswith("_") and not name.startswith("_"))]
    assert [name for name in names if f"`{name}" not in text] == []


def public_methods():
    """The methods of estimators and baselines that are written here."""
    seen = set()
    for module in (gramian, importlib.import_module("gramian.baselines")):
        for name in module.__all__:
            kind = getattr(module, name)
            if not (inspect.isclass(kind) and issubclass(kind, BaseEstimator)):
                continue
            for name, method in inspect.getmembers(kind, inspect.isfunction):
                if name[0] != "_" and method.__module__.startswith("gramian") and method.__qualname__ not in seen:
                    seen.add(method.__qualname__)
                    yield pytest.param(method, id=method.__qualname__)


@pytest.mark.parametrize("method", list(public_methods()))
def test_every_parameter_of_a_method_is_explained(method):
    text = inspect.cleandoc(method.__doc__).partition("Parameters\n----------\n")[2]
    text = re.split(r"\n\n\w+\n-", text)[0]
    explained = set()
    for names in re.findall(r"^(\S[^:\n]*?)(?: :.*)?\n    \S", text, re.M):
        explained |= {name.strip("* ") for name in names.split(",")}
    assert [name for name in inspect.signature(method).parameters if name not in explained | {"self"}] == []
