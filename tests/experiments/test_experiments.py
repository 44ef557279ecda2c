"""Experiments run again where their source or settings changed, and the page agrees with the records."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from experiments import __main__ as command
from experiments import invariances
from experiments.experiment import Claim, Experiment, Verdict, find_experiments, holds
from experiments.page import format_claim, format_page, judge_claim, judge_claims, write_page
from experiments.runner import ResultsFolder, load_result, result_key, run_experiments
from harness.progress import Progress
from harness.store import to_plain

TOY = '''"""A toy | of sorts.

Counts its own measurements.
"""
from dataclasses import dataclass
from pathlib import Path
from experiments.experiment import Claim, holds, fails
from gramian import datasets
HELPER
@dataclass(frozen=True)
class Config:
    n: int
    log: str = LOG
QUICK, PAPER = Config(2), Config(4)
CAVEATS = ("Not real.",)

def run(config, progress):
    return progress.rows(range(config.n), lambda case: measure(case, config))

def measure(case, config):
    if (Path(config.log) / "stop").exists() and case == 2:
        raise RuntimeError("stopped")
    with (Path(config.log) / "calls").open("a") as file:
        file.write(f"{case} ")
    return {"case": case, "square": case**2}

class Figure:
    def savefig(self, path, **settings):
        Path(path).write_text("drawn")

def plot(records):
    return Figure()

def check(records):
    most = max(row["square"] for row in records)
    return holds(f"at most {most}") if most < 10 else fails(f"up to {most}", "too many")

CLAIMS = [Claim("small", "10.1", "Squares | are small.", check), Claim("any", "10.2", "Any.", lambda r: holds("yes"))]
'''


class Toys:
    """A folder of experiments, where their results go, and which cases were measured."""

    def __init__(self, folder):
        self.folder = folder / "experiments"
        self.folder.mkdir()
        self.log = folder
        self.results = ResultsFolder(folder / "page", quick=False, checkpoints=folder / "partial")

    def write(self, name="toy", text=TOY, helper=""):
        path = self.folder / f"{name}.py"
        path.write_text(text.replace("LOG", repr(str(self.log))).replace("HELPER", helper))
        return path

    def run(self, **settings):
        return run_experiments(self.all, self.results, **settings)

    @property
    def all(self):
        return find_experiments(self.folder)

    @property
    def calls(self):
        path = self.log / "calls"
        found = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return "".join(found)


@pytest.fixture
def toys(tmp_path, monkeypatch):
    # Files are rewritten faster than their times tell.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return Toys(tmp_path)


def test_what_is_finished_is_not_run_again(toys, capsys):
    toys.write()
    assert toys.run() == ([], [])
    assert toys.calls == "0123"
    assert toys.run() == ([], [])
    assert toys.calls == ""
    assert "toy: finished before" in capsys.readouterr().out
    assert toys.run(force=True) == ([], [])
    assert toys.calls == "0123"


def test_records_are_stored_with_what_they_belong_to(toys):
    toys.write()
    toys.run()
    stored = json.loads((toys.results.folder / "records" / "toy.json").read_text())
    assert stored["records"] == [{"case": k, "square": k**2} for k in range(4)]
    assert stored["config"] == {"n": 4, "log": str(toys.log)}
    assert {"commit", "machine", "versions"} <= set(stored["provenance"])
    result = load_result(toys.all[0], toys.results)
    assert result.key == stored["key"] == result_key(toys.all[0], toys.all[0].paper)
    assert not list(toys.results.checkpoints.iterdir())


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("Config(4)", "Config(3)", "012"),
        ("case**2", "case * case", "0123"),
        ("    n: int", "    n: float", "0123"),
        ("Not real.", "Not at all real.", ""),
        ("Counts its own", "Counts all its", ""),
        ("most < 10", "most < 100", ""),
        ("drawn", "drawn anew", ""),
        ("Config(2)", "Config(1)", ""),
    ],
    ids=["settings", "a function that run uses", "Config", "caveats", "docstring", "claims", "plot", "QUICK"],
)
def test_a_change_runs_again_what_depends_on_it(old, new, again, toys):
    toys.write()
    toys.run()
    assert toys.calls == "0123"
    assert old in TOY
    toys.write(text=TOY.replace(old, new))
    toys.run()
    assert toys.calls == again


HELPING = """def power(x):
    return base(x)

def base(x):
    return x

def other(x):
    return -x
"""


def test_helpers_count_where_run_uses_them(toys):
    # Only read, never imported: the package of that name is the real one.
    helper = "power = abs\nif False:\n    from experiments.helping import power"
    experiment = Experiment.load(toys.write(text=TOY.replace("case**2", "power(case)"), helper=helper))

    def key(text):
        (toys.folder / "helping.py").write_text(text)
        return result_key(experiment, experiment.paper)

    assert key(HELPING) != key(HELPING.replace("return base(x)", "return base(x) + 0"))
    assert key(HELPING) != key(HELPING.replace("return x", "return x + 0"))
    assert key(HELPING) == key(HELPING.replace("return -x", "return -x + 0"))


def test_an_interrupted_run_goes_on(toys, capsys):
    toys.write()
    (toys.log / "stop").touch()
    assert toys.run() == (["toy"], [])
    assert toys.calls == "01"
    assert "RuntimeError: stopped" in capsys.readouterr().out
    checkpoint = next(toys.results.checkpoints.iterdir())
    checkpoint.write_text(checkpoint.read_text() + '["[1, 2]", [{"ca')
    (toys.log / "stop").unlink()
    assert toys.run() == ([], [])
    assert toys.calls == "23"
    assert [row["case"] for row in load_result(toys.all[0], toys.results).records] == [0, 1, 2, 3]
    assert not checkpoint.exists()


def test_force_begins_anew_and_seconds_add_up(toys):
    toys.write()
    (toys.log / "stop").touch()
    toys.run()
    (toys.log / "stop").unlink()
    checkpoint = next(toys.results.checkpoints.iterdir())
    lines = [json.loads(line) for line in checkpoint.read_text().split("\n") if line]
    checkpoint.write_text("\n".join(json.dumps([name, rows, 1000.0]) for name, rows, _ in lines))
    before = checkpoint.read_text()
    assert toys.run() == ([], [])
    assert load_result(toys.all[0], toys.results).seconds >= 2000
    checkpoint.write_text(before)
    assert toys.calls == "0123"
    assert toys.run(force=True) == ([], [])
    assert toys.calls == "0123"


def test_a_claim_that_cannot_be_judged_is_shown(toys):
    toys.write()
    toys.run()
    claim = Claim("a", "1", "Words.", lambda records: records[99])
    row = judge_claim(claim, load_result(toys.all[0], toys.results))
    assert row == {"status": "could not be judged", "measured": "", "why": "IndexError: list index out of range"}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("raised", "failed", "said"),
    [
        ('datasets.DatasetNotFound("Put usps.npz somewhere.")', ([], ["a"]), "a: left out. Put usps.npz somewhere."),
        ('FileNotFoundError("git")', (["a"], []), "FileNotFoundError: git"),
        ('ValueError("a mistake")', (["a"], []), "ValueError: a mistake"),
    ],
)
def test_one_that_fails_does_not_stop_the_others(raised, failed, said, jobs, toys, capfd):
    text = TOY.replace('"small"', '"{0}-small"').replace('"any"', '"{0}-any"')
    lacking = f"raise {raised}"
    toys.write("a", text.replace("{0}", "a").replace("if (Path(config.log)", f"{lacking}\n    if (Path(config.log)"))
    toys.write("b", text.replace("{0}", "b"))
    assert toys.run(jobs=jobs) == failed
    assert toys.calls == "0123"
    assert said in capfd.readouterr().out
    write_page(toys.all, toys.results)
    rows = json.loads((toys.results.folder / "claims.json").read_text())
    assert {row["id"]: row["status"] for row in rows} == {
        "a-small": "not run",
        "a-any": "not run",
        "b-small": "holds",
        "b-any": "holds",
    }


def test_the_page_has_a_row_for_each_claim(toys):
    toys.write()
    toys.run()
    write_page(toys.all, toys.results)
    text = (toys.results.folder / "README.md").read_text()
    rows = re.findall(r"^\| 10\.\d \|.*$", text, re.M)
    assert rows[0] == r"| 10.1 | Squares \| are small. | **[holds](#toy)** |"
    assert len(rows) == 2
    folded = "<details>\n<summary>§ 10.1: Squares | are small. <b>holds</b></summary>\n\n- at most 9\n\n</details>\n"
    assert folded in text
    assert text.count("<details>") == text.count("</details>") == 2
    assert "2 claims. Holds: 2, holds in part: 0, does not hold: 0." in text
    assert "![A toy | of sorts](toy.png)" in text
    assert (toys.results.folder / "toy.png").read_text() == "drawn"
    assert "*Not real.*" in text
    assert "[toy.py](../experiments/toy.py) with n=4" in text
    assert "## What the labels mean" in text
    assert "Quick settings" not in text


def test_a_claim_unfolds_to_one_line_for_each_comparison():
    row = {"section": "7", "words": "W -> μW & more.", "status": "holds in part", "why": "Not all."}
    text = format_claim(row | {"measured": "flat 0.2, polar 1.5; errors at 2. wine: 3.1, 4.2. iris: 5"})
    assert text.splitlines() == [
        "<details>",
        "<summary>§ 7: W -&gt; μW &amp; more. <b>holds in part</b></summary>",
        "",
        "- flat 0.2, polar 1.5",
        "- errors at 2",
        "- wine: 3.1, 4.2",
        "- iris: 5",
        "",
        "Why: Not all.",
        "",
        "</details>",
    ]


def test_the_page_follows_claims_and_forgets_results_out_of_date(toys):
    toys.write()
    toys.run()
    toys.write(text=TOY.replace("most < 10", "most < 9"))
    write_page(toys.all, toys.results)
    claims = json.loads((toys.results.folder / "claims.json").read_text())
    assert claims[0] == {
        "id": "small",
        "section": "10.1",
        "words": "Squares | are small.",
        "experiment": "toy",
        "status": "does not hold",
        "measured": "up to 9",
        "why": "too many",
    }
    toys.write(text=TOY.replace("case**2", "case**3"))
    write_page(toys.all, toys.results)
    text = (toys.results.folder / "README.md").read_text()
    assert "not run; there is no result for it as it is now" in text
    assert "at most" not in text
    assert "not run: 2." in text


def test_quick_runs_have_their_own_settings_and_say_so(toys):
    toys.write()
    quick = ResultsFolder(toys.log / "quick", quick=True, checkpoints=toys.log / "partial")
    run_experiments(toys.all, quick)
    assert toys.calls == "01"
    write_page(toys.all, quick)
    assert "**Quick settings**" in (quick.folder / "README.md").read_text()
    assert load_result(toys.all[0], toys.results) is None


def test_spoilt_records_are_named(toys):
    toys.write()
    toys.run()
    toys.results.records_file(toys.all[0]).write_text('{"key": ')
    with pytest.raises(ValueError, match=r"toy\.json cannot be read: .*\. Delete it and run again\."):
        toys.run()


def test_what_an_experiment_lacks_is_said(toys):
    toys.write(text=TOY.replace("def plot(", "def picture("))
    with pytest.raises(ValueError, match=r"toy\.py lacks plot\. An experiment has a docstring, Config, QUICK"):
        _ = toys.all
    toys.write(text=TOY)
    toys.write("twin", TOY)
    with pytest.raises(ValueError, match="must be unique; used twice: any, small"):
        _ = toys.all


def test_verdicts_are_of_three_kinds():
    with pytest.raises(ValueError, match="status='maybe' is unknown"):
        Verdict("maybe", "")


def test_experiments_come_in_the_order_of_the_paper(toys):
    for name, section in (("a", "10.2.1"), ("b", "7.2"), ("c", "10.1"), ("d", "10"), ("e", "10.2")):
        text = TOY.replace('"10.1"', f'"{section}"').replace('"small"', f'"{name}1"').replace('"any"', f'"{name}2"')
        toys.write(name, text)
    (toys.folder / "helping.py").write_text("raise RuntimeError")
    assert [experiment.name for experiment in toys.all] == ["b", "d", "c", "e", "a"]


def test_the_command_runs_what_is_named(toys, monkeypatch, capsys):
    toys.write()
    monkeypatch.setattr(command, "find_experiments", lambda: toys.all)
    monkeypatch.setattr(ResultsFolder, "default", lambda quick: toys.results)
    assert command.main(["--page"]) == 0
    assert toys.calls == ""
    assert command.main(["toy"]) == 0
    assert toys.calls == "0123"
    assert str(toys.results.folder) in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["tyo"])
    assert "tyo: unknown. There are toy." in capsys.readouterr().err


def test_invariances_are_judged_by_their_records(tmp_path):
    records = to_plain(invariances.run(invariances.QUICK, Progress("invariances", file=io.StringIO())))
    assert len(records) == len(invariances.ALGORITHMS) * len(invariances.CHANGES)
    statuses = [claim.check(records).status for claim in invariances.CLAIMS]
    assert statuses == ["holds", "holds in part", "holds", "holds"]
    spoilt = [{**row, "deviation": 1e-3} if row["algorithm"] == "batch polar" else row for row in records]
    assert [claim.check(spoilt).status for claim in invariances.CLAIMS] == [
        "does not hold",
        "holds in part",
        "does not hold",
        "does not hold",
    ]


def test_invariances_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    records = [
        {"seed": 0, "algorithm": name, "change": change, "deviation": 1e-12, "length": 3}
        for name in invariances.ALGORITHMS
        for change in invariances.CHANGES
    ]
    figure = invariances.plot(records)
    assert [axes.get_title() for axes in figure.axes] == list(invariances.CHANGES)
    figure.savefig(tmp_path / "figure.png")


@pytest.fixture(scope="module", params=find_experiments(), ids=lambda experiment: experiment.name)
def quick(request):
    """An experiment and its rows with quick settings, as they are stored and read."""
    experiment = request.param
    try:
        records = experiment.run(experiment.quick, Progress(experiment.name, file=io.StringIO()))
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return experiment, json.loads(json.dumps(to_plain(records)))


def test_quick_runs_have_rows_and_every_claim_a_verdict(quick):
    experiment, records = quick
    assert records
    for claim in experiment.claims:
        verdict = claim.check(records)
        assert isinstance(verdict, Verdict), claim.id
        assert re.search(r"\d|no settings in common", verdict.measured), claim.id
        assert verdict.why or verdict.status == "holds", claim.id
        assert "nan" not in verdict.measured, claim.id


def test_quick_runs_are_drawn(quick, tmp_path):
    pytest.importorskip("matplotlib")
    experiment, records = quick
    figure = experiment.plot(records)
    assert figure.axes
    assert all(axes.has_data() for axes in figure.axes)
    figure.savefig(tmp_path / "figure.png", dpi=50)


def test_the_page_of_the_paper_is_what_its_records_say():
    folder, experiments = ResultsFolder.default(quick=False), find_experiments()
    results = {experiment.name: load_result(experiment, folder) for experiment in experiments}
    advice = "python -m experiments --page"
    text = (folder.folder / "README.md").read_text()
    assert text == format_page(experiments, results, folder), advice
    assert json.loads((folder.folder / "claims.json").read_text()) == judge_claims(experiments, results), advice
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (folder.folder / target).exists(), target


def test_claims_of_the_paper_have_ids_sections_and_words():
    for experiment in find_experiments():
        assert Path(experiment.path).parent.name == "experiments"
        for claim in experiment.claims:
            assert isinstance(claim, Claim)
            assert re.fullmatch(r"[a-z0-9-]+", claim.id)
            assert re.fullmatch(r"\d+(\.\d+)*", claim.section)
            assert claim.words.endswith(".")
    assert holds("measured").why == ""
