"""Settings of the site: `make docs` builds it into build/docs, with warnings as errors."""

import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from reference import escape_names, write_reference  # noqa: E402

import gramian  # noqa: E402

write_reference(HERE / "api")
# Pages that a checkout may be without.
OPTIONAL = ("command-line", "scale")

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
templates_path = ["_templates"]
numpydoc_attributes_as_param_list = True

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
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
html_sidebars = {"index": [], "start": []}


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


def link_to_pages(app, docname, source):
    """Let links to CONTRIBUTING and CHANGELOG of the checkout lead to their pages on the site."""
    up = "../" * docname.count("/")
    for name in ("CONTRIBUTING", "CHANGELOG"):
        source[0] = source[0].replace(f"](../{up}{name}.md", f"]({up}{name.lower()}.md")
    if docname == "guide":
        entries = source[0].splitlines()
        missing = {name for name in OPTIONAL if not (HERE / f"{name}.md").exists()}
        source[0] = "\n".join(entry for entry in entries if entry not in missing)
    # An empty line ends an example for the doctest, and is not shown.
    source[0] = re.sub(r"\n\n```(?=\n|$)", "\n```", source[0])
    # Anchors in HTML are targets of MyST.
    source[0] = re.sub(r'<a id="([\w-]+)"></a>', r"(\1)=", source[0])


def setup(app):
    """Mend docstrings before numpydoc reads them, and links before MyST does."""
    app.connect("source-read", link_to_pages)
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-docstring", escape_docstring, priority=100)
