"""The rules of the house: arrows point down, one registry a role, named work, inheritance one deep, short files."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import gramian
from gramian.geometries import GEOMETRIES, Geometry
from gramian.losses import LOSSES, Loss
from gramian.measurements import MEASUREMENTS, Measurement
from gramian.solvers import SOLVERS, Solver
from gramian.starts import STARTS
from gramian.supervision import SUPERVISIONS, Supervision

SOURCE = Path(gramian.__file__).parent
LAYERS = [
    {"_kernels", "atomic", "interrupts", "types", "warn"},
    {"extremes"},
    {"checks"},
    {"_checkpoints", "tables"},
    {"features", "measurements", "losses", "geometries", "execution"},
    {"mapped", "columns"},
    {"span"},
    {"closeness", "coordinates"},
    {"objective"},
    {"images"},
    {"penalties", "situation", "certificate", "blocked"},
    {"starts", "supervision", "datasets"},
    {"solvers"},
    {"progress", "contracts"},
    {"estimators"},
    {"baselines"},
    {"files"},
    {"plotting"},
    {"report"},
    {"cli"},
    {"demo"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE) != Path("__init__.py"))
REGISTRIES = {
    "GEOMETRIES": (GEOMETRIES, Geometry),
    "LOSSES": (LOSSES, Loss),
    "MEASUREMENTS": (MEASUREMENTS, Measurement),
    "SOLVERS": (SOLVERS, Solver),
    "SUPERVISIONS": (SUPERVISIONS, Supervision),
}
ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path for folder in ("benchmarks", "experiments", "harness") for path in (ROOT / folder).rglob("*.py"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))


def part_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_parts(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "gramian":
                names = [f"gramian.{gramian._HOMES.get(a.name, a.name).removeprefix('gramian.')}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("gramian."))


def module_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return importlib.import_module(".".join(["gramian", *(part for part in parts if part != "__init__")]))


@pytest.fixture(scope="module")
def modules():
    """All modules of the package: only classes that are imported are known as subclasses."""
    return [module_of(path) for path in FILES]


def test_every_part_has_a_level():
    assert {part_of(path) for path in FILES} == set(LEVEL)


@each_file
def test_imports_point_down(path):
    own = part_of(path)
    for other in imported_parts(path):
        assert other == own or LEVEL[other] < LEVEL[own], f"{own} imports {other}"


@each_file
def test_imports_are_absolute(path):
    """The rule on arrows reads names that begin with "gramian."."""
    relative = [node for node in ast.walk(ast.parse(path.read_text())) if getattr(node, "level", 0)]
    assert [ast.unparse(node) for node in relative if isinstance(node, ast.ImportFrom)] == []


@each_file
def test_files_and_functions_are_short(path):
    tree = ast.parse(path.read_text())
    assert len(path.read_text().splitlines()) <= 400
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            documented = ast.get_docstring(node, clean=False) or ""
            length = node.end_lineno - node.lineno + 1 - len(documented.splitlines())
            assert length <= 60, f"{node.name} has {length} lines"


def module_level_names(tree):
    """The functions and imports of a module: what can be sent to another process by its name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)


def works_handed_to_run(tree):
    """The function in every call x.run(work, ...), x.map(...), x.submit(...) or x.place_with(cut, ...)."""
    for node in ast.walk(tree):
        called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        if called in ("run", "map", "submit", "place_with"):
            yield from node.args[:1]
            yield from (keyword.value for keyword in node.keywords if keyword.arg in ("work", "function", "cut"))


def nested_names(tree):
    """The functions that are defined inside of others: they cannot be sent to another process."""
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef):
            inner = (node for node in ast.walk(outer) if node is not outer)
            yield from (node.name for node in inner if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_scripts_hand_no_closure_to_run(path):
    tree = ast.parse(path.read_text())
    nested = set(nested_names(tree))
    for work in works_handed_to_run(tree):
        assert not isinstance(work, ast.Lambda), f"{ast.unparse(work)} cannot be sent"
        assert not (isinstance(work, ast.Name) and work.id in nested), f"{work.id} is defined inside a function"


def defined_work(path, work):
    """The function that is handed to `run`, by its name in a module."""
    return getattr(module_of(path), work.id, None) if isinstance(work, ast.Name) else None


@each_file
def test_work_declares_what_it_keeps_and_sums(path):
    """Workers of a cluster are told by the annotation whether to keep a result, and whether to add it up."""
    if part_of(path) in ("execution", "tables"):
        return
    for node in ast.walk(ast.parse(path.read_text())):
        called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        work = defined_work(path, node.args[0]) if called == "run" and node.args else None
        if work is not None:
            declared = ast.parse(work.__annotations__["return"], mode="eval").body
            assert isinstance(declared, ast.Subscript), work
            assert ast.unparse(declared.value) == "tuple", work
            assert len(declared.slice.elts) == 2, f"{work.__name__} returns {ast.unparse(declared)}"


@each_file
def test_starts_are_named_in_their_registry_only(path):
    """Estimators ask `resolve_start` for a start by its name; functions of starts are in the registry, all of them."""
    tree = ast.parse(path.read_text())
    known = {start.__name__ for start in STARTS.values()}
    if part_of(path) == "starts":
        defined = {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.endswith("_start")
        }
        assert defined <= known | {"resolve_start"}
    else:
        named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert not known & (named | imported)


@each_file
def test_work_is_a_module_level_function(path):
    tree = ast.parse(path.read_text())
    if part_of(path) in ("execution", "tables"):
        return
    # A problem passes the work on to its execution.
    passes_on = {"work"} if path.name == "problem.py" else set()
    known = {*module_level_names(tree), *passes_on}
    for work in works_handed_to_run(tree):
        name = work.value if isinstance(work, ast.Attribute) else work
        assert isinstance(name, ast.Name), f"{ast.unparse(work)} is not a name"
        assert name.id in known, f"{ast.unparse(work)} is not defined at module level"


def test_the_rule_on_work_sees_lambdas_and_closures():
    tree = ast.parse(
        "def f(e, s):\n    def inner(b): ...\n    e.run(lambda b: b, s)\n    e.run(inner, s)\n    e.run(f, s)\n"
        "    e.run(work=inner, shards=s)"
    )
    found = [isinstance(w, ast.Name) and w.id in set(module_level_names(tree)) for w in works_handed_to_run(tree)]
    assert found == [False, False, True, False]


#: Where images come to the driver: predictions, principal components as data, and samples that are drawn and so few.
ON_THE_DRIVER = {
    "baselines/lmnn.py": {"_minimise"},
    "estimators/_trial.py": {"error"},
    "estimators/regressor.py": {"predict"},
    "images.py": {"compute_image"},
    "situation.py": {"image"},
    "starts/principal.py": {"principal_components"},
    "supervision/labels.py": {"begin", "terms"},
}
#: The parts that are made of images; contracts compare them with explicit matrices.
OF_IMAGES = {"_kernels", "blocked", "contracts", "features", "mapped", "measurements"}


def is_work(function):
    """True for a module-level function that declares what it keeps and what it sums."""
    return function.returns is not None and ast.unparse(function.returns).startswith("tuple[")


def functions_with_images(tree):
    """The names of functions that are no work and ask for an image of samples."""
    works = {node for node in tree.body if isinstance(node, ast.FunctionDef) and is_work(node)}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node not in works):
        called = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
        if any(name == "compute_image" or name.endswith(".image") for name in called):
            yield function.name


@each_file
def test_images_come_to_the_driver_in_few_named_places(path):
    name = path.relative_to(SOURCE).as_posix()
    # The works on blocks are made of the methods of a block and of its pieces.
    if part_of(path) in OF_IMAGES or name == "objective/block.py":
        return
    assert set(functions_with_images(ast.parse(path.read_text()))) == ON_THE_DRIVER.get(name, set())


def test_the_rule_on_images_sees_functions_but_not_works():
    tree = ast.parse(
        "def work(f, *, B) -> tuple[None, M]:\n    return None, f.image(B)\ndef driver(f, B):\n    return f.image(B)"
    )
    assert list(functions_with_images(tree)) == ["driver"]


@pytest.mark.parametrize("name", REGISTRIES)
def test_every_part_is_in_the_one_registry_of_its_role(name, modules):
    registry, kind = REGISTRIES[name]
    own = {part for part in kind.__subclasses__() if part.__module__.startswith("gramian.")}
    assert set(registry.values()) == own


def test_no_other_table_lists_the_parts_of_a_role(modules):
    """A second registry under another name: a dict of a module whose values are parts of one role."""
    known = [STARTS, *(registry for registry, _ in REGISTRIES.values())]
    parts = [set(registry.values()) for registry in known]
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, dict) and value and not any(value is registry for registry in known):
                found = {each for each in value.values() if isinstance(each, type) or inspect.isfunction(each)}
                assert not any(found and found <= own for own in parts), f"{module.__name__}.{name}"


@pytest.mark.parametrize("name", [*REGISTRIES, "STARTS"])
def test_a_role_has_one_registry(name):
    defined = [
        path
        for path in FILES
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.AnnAssign | ast.Assign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    assert len(defined) == 1


@pytest.mark.parametrize("kind", [*GEOMETRIES.values(), *LOSSES.values()], ids=lambda kind: kind.__name__)
def test_parts_with_settings_have_examples_of_them(kind):
    assert kind.examples
    assert all(type(example) is kind for example in kind.examples)


@each_file
def test_inheritance_is_one_deep(path):
    """A class of ours may have a base of ours, but that base has none: readers look in one place."""
    for _, kind in inspect.getmembers(module_of(path), inspect.isclass):
        ours = [base for base in kind.__bases__ if base.__module__.startswith("gramian.")]
        for base in ours:
            assert not [deeper for deeper in base.__bases__ if deeper.__module__.startswith("gramian.")], (
                f"{kind.__name__} -> {base.__name__} -> ..."
            )


def test_folders_of_tests_are_those_of_the_source():
    beside = {"benchmarks", "experiments", "harness", "pages", "properties"}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert folders - beside == {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def test_public_names_resolve():
    for name in gramian.__all__:
        assert getattr(gramian, name).__doc__
    assert set(gramian.__all__) <= set(dir(gramian))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gramian.nonsense


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_layout_has_every_part(page):
    text = (ROOT / page).read_text()
    missing = [part for part in LEVEL if f"{part}/" not in text and f"{part}.py" not in text]
    assert not missing


def test_the_page_on_the_architecture_has_every_supervision_and_every_work_of_a_minimisation():
    text = (ROOT / "docs/architecture.md").read_text()
    assert [kind.__name__ for kind in SUPERVISIONS.values() if f"`{kind.__name__}`" not in text] == []
    tree = ast.parse((SOURCE / "objective" / "block.py").read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.returns is not None]
    works = [
        node.name for node in functions if ast.unparse(node.args.args[0].annotation or ast.Constant("")) == "Block"
    ]
    returned = {node.name: ast.unparse(node.returns) for node in functions}
    works = [name for name in works if returned[name].startswith("tuple[")]
    assert works
    assert [name for name in works if f"`{name}`" not in text] == []
