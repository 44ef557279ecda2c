"""Generated cases of every property in `harness.properties`: none ends in a fault."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.properties import PROPERTIES, Draw, Outcome, run_case

N_EXAMPLES = 10


class DataDraw(Draw):
    """Choices by hypothesis, which looks for the simplest case that fails."""

    def __init__(self, data):
        super().__init__()
        self.data = data

    def integer(self, low, high):
        return self.data.draw(st.integers(low, high))


@pytest.mark.parametrize("name", sorted(PROPERTIES))
def test_property(name):
    @settings(
        max_examples=N_EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def check(data):
        case = run_case(PROPERTIES[name], DataDraw(data))
        assert case.outcome is not Outcome.FAULT, case.message

    check()
