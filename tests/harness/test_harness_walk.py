"""The walk counts functions of the package only, and leaves the profiler as it was."""

import sys

import numpy as np

from gramian import MetricLearner
from harness.walk import Walk, main, walk


def test_nothing_of_other_packages_is_counted():
    assert walk(np.linalg.norm, np.ones(3)) == Walk(0, 0, 0)
    assert sys.getprofile() is None


def test_a_call_inside_one_file_changes_no_file():
    found = walk(MetricLearner, 2)
    assert found == Walk(1, 1, 0)


def test_the_walk_of_a_fit_is_printed(capsys):
    main()
    assert "MetricLearner(5).fit: " in capsys.readouterr().out
