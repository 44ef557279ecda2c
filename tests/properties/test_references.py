"""The explicit references of the generated cases."""

import numpy as np
import pytest

from harness.properties.references import line_decrease


def two_valleys(x):
    """A cost with minima near -1 and 1, the second one lower."""
    return float(np.sum((x**2 - 1) ** 2 - 0.1 * x))


def slope(x):
    return 4 * x * (x**2 - 1) - 0.1


def test_the_decrease_along_a_line_is_that_of_the_valley_one_is_in():
    roots = np.sort(np.roots([4, 0, -4, -0.1]).real)
    minimum, top = roots[:1], roots[1:2]
    assert line_decrease(two_valleys, minimum, np.array([0.0])) == 0
    # A gradient that is rounding points at the lower valley.
    assert line_decrease(two_valleys, minimum, np.array([-1e-9])) < 1e-12
    aside = minimum + 0.05
    expected = two_valleys(aside) - two_valleys(minimum)
    assert line_decrease(two_valleys, aside, slope(aside)) == pytest.approx(expected, rel=0.5)
    assert line_decrease(two_valleys, top + 1e-3, slope(top + 1e-3)) > 0.5
