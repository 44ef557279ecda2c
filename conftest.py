"""Examples that need an optional package are left out where it is missing, and so is what builds the site."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("cvxpy") else ["src/gramian/baselines/unfolding.py"]
# The settings of the site, and what its build writes beside the pages.
collect_ignore += ["docs/conf.py", "docs/_ext", "docs/api", "docs/gallery"]
collect_ignore += (
    [] if find_spec("pyarrow") else ["src/gramian/tables/table.py", "docs/large-data.md", "docs/guides/table.md"]
)
collect_ignore += [] if find_spec("distributed") else ["docs/scale.md", "docs/guides/cluster.md"]
