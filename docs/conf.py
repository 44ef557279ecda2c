"""Settings of the site: `make docs` builds it into build/docs, with warnings as errors."""

import os
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from reference import escape_names, write_reference  # noqa: E402

import gramian  # noqa: E402

# Examples load the model that is installed, and ask for nothing.
os.environ["HF_HUB_OFFLINE"] = "1"

write_reference(HERE / "api")

project, author = "Gramian", "The Gramian developers"
copyright = author
version = release = gramian.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
html_math_renderer = "mathml"
exclude_patterns = ["_ext", "gallery/**/*.ipynb", "gallery/*.py", "_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
default_role = "py:obj"
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
# Links to files of the checkout (CONTRIBUTING.md, CITATION.cff) are downloads on the site.
suppress_warnings = ["config.cache"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"
templates_path = ["_templates"]
numpydoc_attributes_as_param_list = True

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("gramian",),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1_000_000,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

html_theme = "pydata_sphinx_theme"
html_title = "Gramian"
html_static_path = ["_static"]
html_logo = html_favicon = "_static/logo.svg"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Gramian"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "monokai",
}
# Wide tables have the room of the sidebar.
html_sidebars = {"index": [], "start": [], "measured": []}


def escape_docstring(app, what, name, value, options, lines):
    """Escape what looks like a reference in the prose of a docstring, in place; examples stay as they are."""
    example = False
    for index, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example and not line.lstrip().startswith(".. "):
            lines[index] = escape_names(line)


def skip_routing(app, what, name, value, skip, options):
    """Leave out the methods by which scikit-learn routes metadata: they are in every estimator."""
    return True if name == "get_metadata_routing" or re.fullmatch(r"set_\w+_request", name) else None


def unlisted_pages():
    """Return the names of pages that no table of contents names: the guides list them last."""
    texts = [page.read_text(encoding="utf-8") for page in HERE.glob("*.md")]
    tables = [table for text in texts for table in re.findall(r"```{toctree}\n(.*?)```", text, re.S)]
    listed = {entry.rpartition("<")[2].rstrip(">") for table in tables for entry in table.splitlines()}
    return sorted(page.stem for page in HERE.glob("*.md") if page.stem not in listed and page.stem != "index")


def link_to_pages(app, docname, source):
    """Let links to CONTRIBUTING and CHANGELOG, and names of examples, lead to their pages on the site."""
    up = "../" * docname.count("/")
    for name in ("CONTRIBUTING", "CHANGELOG"):
        source[0] = source[0].replace(f"](../{up}{name}.md", f"]({up}{name.lower()}.md")
    if docname == "guide":
        source[0] = source[0].replace("\nothers\n", "".join(f"\n{name}" for name in unlisted_pages()) + "\n")
    if docname == "gallery/index":
        source[0] = re.sub(r"``(plot_\w+)\.py``", r":doc:`\1`", source[0])
    # An empty line ends an example for the doctest, and is not shown.
    source[0] = re.sub(r"\n\n```(?=\n|$)", "\n```", source[0])
    # Anchors in HTML are targets of MyST.
    source[0] = re.sub(r'<a id="([\w-]+)"></a>', r"(\1)=", source[0])


def setup(app):
    """Mend docstrings before numpydoc reads them, and links before MyST does."""
    app.connect("source-read", link_to_pages)
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-docstring", escape_docstring, priority=100)
