"""Examples that need an optional package are left out where it is missing."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("cvxpy") else ["src/gramian/baselines/unfolding.py"]
collect_ignore += [] if find_spec("pyarrow") else ["src/gramian/tables/table.py", "docs/large-data.md"]
