import json

import numpy as np
import pytest

from gramian import PSDRegressor
from harness import soak
from harness.properties.case import PROPERTIES, Draw, Outcome, Property, SeededDraw, call, require, run_case


def draws_nothing(draw: Draw) -> None:
    require(draw.integer(0, 3) < 4, "never")


def fails_sometimes(draw: Draw) -> None:
    draw.size = (1,)
    require(draw.flag(), "the flag was False")


@pytest.fixture
def only_two(monkeypatch):
    for name in list(PROPERTIES):
        monkeypatch.delitem(PROPERTIES, name)
    for name, check in {"a: nothing": draws_nothing, "a: sometimes": fails_sometimes}.items():
        monkeypatch.setitem(PROPERTIES, name, Property(name, check))


def test_a_run_counts_faults_and_tells_how_to_repeat_them(only_two, tmp_path, capsys):
    record = tmp_path / "soak.json"
    assert soak.main(["--minutes", "0.002", "--seed", "5", "--only", "a:", "--record", str(record)]) == 1
    rows = {row["property"]: row for row in json.loads(record.read_text())["rows"]}
    assert rows["a: nothing"]["cases"] > 0
    assert rows["a: nothing"]["faults"] == 0
    assert 0 < rows["a: sometimes"]["faults"] < rows["a: sometimes"]["cases"]
    number = rows["a: sometimes"]["messages"][0].split(":")[0].removeprefix("case ")
    assert f"--case 'a: sometimes' 5 {number}" in capsys.readouterr().out
    assert soak.main(["--case", "a: sometimes", "5", number]) == 1


def test_the_slowest_case_is_measured_beside_its_peers():
    times = [soak.Timed(k, (1,), 0.01) for k in range(9)] + [soak.Timed(9, (1,), 0.6), soak.Timed(10, (2,), 1.0)]
    slowest = soak.judge_times(times)
    assert slowest.number == 9
    assert slowest.ratio == pytest.approx(60)


def test_refusals_are_those_that_name_an_argument(only_two):
    def refused(draw: Draw) -> None:
        call(draw, PSDRegressor(rank=0).fit, np.eye(3), np.ones(3))

    def unclear(draw: Draw) -> None:
        call(draw, np.ones(3).reshape, 7)

    def not_allowed(draw: Draw) -> None:
        call(draw, PSDRegressor(rank=0).fit, np.eye(3), np.ones(3), legal=True)

    ends = [run_case(Property("p", check), SeededDraw(0)).outcome for check in (refused, unclear, not_allowed)]
    assert ends == [Outcome.REFUSED, Outcome.FAULT, Outcome.FAULT]
