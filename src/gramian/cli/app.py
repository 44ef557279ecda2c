"""The commands, their options and their help; and what becomes of errors."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import gramian
from gramian.cli.interrupting import noticing_interrupts
from gramian.cli.mistakes import explain
from gramian.cli.screen import note, say
from gramian.interrupts import interrupts_raised

__all__ = ["app", "run"]

app = typer.Typer(
    name="gramian",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn distances, maps and few good numbers from your data.\n\n"
    "Start with [bold]gramian demo[/bold], then [bold]gramian fit data.csv --target label[/bold].",
    epilog="Exit codes: 0 done, 1 something to mend, 2 wrong usage, 130 interrupted.",
)

#: What the help shows for an option that takes no value.
FLAG = " "
Model = Annotated[Path, typer.Argument(help="A model from [bold]gramian fit[/bold].", show_default=False)]
Data = Annotated[Path, typer.Argument(help="CSV, Parquet, NPZ (arrays X, y) or svmlight.", show_default=False)]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The column of class labels.", show_default=False),
]
Seed = Annotated[int, typer.Option(help="The seed of all random choices.", min=0, max=2**32 - 1)]
Encoding = Annotated[str, typer.Option(help="The encoding of a CSV file.")]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="COLUMN", help="A column to read as text; may be repeated.", show_default=False),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="A column to leave out; may be repeated.", show_default=False),
]


class Constraints(StrEnum):
    """What a fit makes of labels; as MetricLearner's `constraints`."""

    AUTO = "auto"
    NEIGHBOURHOODS = "neighbourhoods"
    TRIPLETS = "triplets"
    PAIRS = "pairs"


def show_version(wanted: bool) -> None:
    """Write the version and end, if wanted."""
    if wanted:
        say(f"gramian {gramian.__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", metavar=FLAG, callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", metavar=FLAG, help="Show the traceback of an error.")] = False,
) -> None:
    """Take the options of all commands; `run` has taken --debug out already."""


@app.command(epilog="Example:  gramian demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="The folder for pictures, model and report.")] = Path("demo"),
) -> None:
    """Show what it does, on handwritten digits, in less than a minute."""
    from gramian.cli.demo import run_demo

    run_demo(out)


@app.command(
    epilog="Examples:\n\n"
    "gramian fit people.csv --target job --drop id --components 8 --out people.skops\n\n"
    "gramian fit big.parquet --target label --components 8 --stream\n\n"
    "gramian fit rows.csv --pairs pairs.csv   (lines: row,row,1 near or -1 far)"
)
def fit(
    context: typer.Context,
    data: Data,
    target: Target = None,
    components: Annotated[
        str,
        typer.Option(
            "--components", "-r", metavar="N|auto", help="Numbers a sample; auto chooses by cross-validation."
        ),
    ] = "auto",
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model is saved.")] = Path("model.skops"),
    pairs: Annotated[
        Path | None, typer.Option(help="CSV: two row numbers, 0 the first, and 1 or -1.", show_default=False)
    ] = None,
    triplets: Annotated[
        Path | None, typer.Option(help="CSV of row numbers: anchor, near, far.", show_default=False)
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", metavar=FLAG, help="Read all rows in chunks; constant memory.")
    ] = False,
    max_rows: Annotated[int, typer.Option(min=0, help="Learn from at most N random rows; 0: from all.")] = 200_000,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Store the state here; the same command goes on.", show_default=False)
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="The address of a Dask scheduler.", metavar="ADDRESS", show_default=False)
    ] = None,
    constraints: Annotated[Constraints, typer.Option(help="What is made of labels; auto tries.")] = Constraints.AUTO,
    jobs: Annotated[int, typer.Option(help="Threads; -1 for one a core.")] = -1,
    drop: Drop = None,
    text: Text = None,
    encoding: Encoding = "utf8",
    seed: Seed = 0,
) -> None:
    """Learn a distance from a file, and save it with all that prepares the columns."""
    from gramian.cli.fitting import Request, fit_file
    from gramian.cli.reading import Reading

    tuples = "--pairs" if pairs else "--triplets" if triplets else None
    refuse_given(context, "max_rows", "--stream" if stream else tuples, "all rows are read")
    refuse_given(context, "constraints", tuples, "no labels are learned from")
    refuse_given(context, "jobs", "--dask" if dask else None, "the workers of the cluster have threads of their own")
    reading = Reading(target, drop=drop or [], texts=text or [], max_rows=max_rows, seed=seed, encoding=encoding)
    way = constraints.value
    fit_file(Request(data, out, reading, components, pairs, triplets, stream, dask, checkpoint, jobs, way))


def is_given(context: typer.Context, name: str) -> bool:
    """Return True if an option is on the command line, and is not only its default."""
    return getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"


def refuse_given(context: typer.Context, name: str, other: str | None, why: str) -> None:
    """Raise a Mistake if an option is given that the option `other`, None if that is not given, makes useless."""
    from gramian.cli.mistakes import Mistake

    if other is not None and is_given(context, name):
        raise Mistake(f"--{name.replace('_', '-')} changes nothing beside {other}: {why}. Leave it out.")


@app.command(epilog="Example:  gramian transform model.skops new.csv --keep id --out map.csv")
def transform(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="A file .csv, .parquet or .npz.")] = Path("map.csv"),
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column to copy; may be repeated. A missing text is empty in an NPZ file.",
            show_default=False,
        ),
    ] = None,
    encoding: Encoding = "utf8",
) -> None:
    """Map rows to their few numbers, z1, z2, ...; plain distances of these are the learned ones."""
    from gramian.cli.mapping import map_file
    from gramian.cli.reading import Reading

    map_file(model, data, out, keep or [], Reading(encoding=encoding))


@app.command(
    epilog="Examples:\n\n"
    "gramian neighbours model.skops data.csv --row 0 --row 17\n\n"
    "gramian neighbours model.skops data.csv --queries new.csv --count 10 --out near.csv"
)
def neighbours(
    model: Model,
    data: Data,
    queries: Annotated[
        Path | None, typer.Option(help="Rows to search for; by default rows of the data.", show_default=False)
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(metavar="NUMBER", help="A query, by its row number; 0 is first.", show_default=False),
    ] = None,
    count: Annotated[int, typer.Option("--count", "-k", help="Neighbours of each query.")] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A CSV file instead of a table.", show_default=False)
    ] = None,
    encoding: Encoding = "utf8",
) -> None:
    """Find the nearest rows in the learned distance."""
    from gramian.cli.mapping import find_neighbours
    from gramian.cli.reading import Reading

    find_neighbours(model, data, queries, row or [], count, out, Reading(encoding=encoding))


@app.command(
    epilog="Examples:\n\n"
    "gramian evaluate data.csv --target label --components 5\n\n"
    "gramian evaluate model.skops test.csv --target label --train data.csv"
)
def evaluate(
    context: typer.Context,
    data: Annotated[
        Path, typer.Argument(help="Rows, to which methods are fitted anew; or a saved model.", show_default=False)
    ],
    rows: Annotated[
        Path | None, typer.Argument(help="After a model: the rows it is judged by.", show_default=False)
    ] = None,
    target: Target = None,
    train: Annotated[
        Path | None, typer.Option(help="After a model: rows that vote; else the others vote.", show_default=False)
    ] = None,
    components: Annotated[int, typer.Option("--components", "-r", min=1, help="Numbers a sample.")] = 2,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 5,
    neighbours: Annotated[int, typer.Option("--neighbours", "-k", min=1, help="Neighbours that vote.")] = 5,
    max_rows: Annotated[int, typer.Option(min=0, help="Use at most N random rows; 0: all.")] = 2000,
    drop: Drop = None,
    text: Text = None,
    encoding: Encoding = "utf8",
    seed: Seed = 0,
) -> None:
    """Compare with plain distance, PCA, LDA and NCA by cross-validation; or judge a saved model on other rows."""
    from gramian.cli.comparing import evaluate_file
    from gramian.cli.judging import judge_model
    from gramian.cli.reading import Reading

    reading = Reading(target, drop=drop or [], texts=text or [], max_rows=max_rows, seed=seed, encoding=encoding)
    check_evaluation(context, data, rows, train)
    if rows is None:
        evaluate_file(data, components, folds, neighbours, reading)
    else:
        judge_model(data, rows, train, neighbours, reading)


def check_evaluation(context: typer.Context, data: Path, rows: Path | None, train: Path | None) -> None:
    """Raise a Mistake if arguments of an evaluation do not fit together."""
    from gramian.cli.mistakes import Mistake

    if rows is None and data.suffix == ".skops":
        raise Mistake(f"{data} is a model. Give the rows too: gramian evaluate {data} test.csv --target COLUMN")
    if rows is None and train is not None:
        raise Mistake("--train belongs to a model. Give one before the rows: gramian evaluate model.skops test.csv")
    fitting = ("components", "folds", "drop", "text")
    given = [name for name in fitting if is_given(context, name)]
    if rows is not None and given:
        raise Mistake(f"--{given[0]} is for methods that are fitted anew; a model is judged as it is. Leave it out.")


@app.command(
    epilog="Examples:\n\n"
    "gramian embed distances.csv --components 2 --out map.csv\n\n"
    "gramian embed known.csv --pairs   (lines such as 0,1,2.5: samples are numbered from 0)"
)
def embed(
    distances: Annotated[Path, typer.Argument(help="A matrix of distances, empty where unknown.", show_default=False)],
    components: Annotated[
        str, typer.Option("--components", "-r", metavar="N|auto", help="Dimensions of the map, or auto.")
    ] = "2",
    out: Annotated[Path, typer.Option("--out", "-o", help="A file .csv, .parquet or .npz.")] = Path("map.csv"),
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs", metavar=FLAG, help="The file has lines: sample, sample, distance. Samples are numbers from 0 on."
        ),
    ] = False,
    seed: Seed = 0,
) -> None:
    """Make a map from distances, some of which may be unknown."""
    from gramian.cli.embedding import embed_file

    embed_file(distances, out, components, pairs, seed)


@app.command(epilog="Example:  gramian report model.skops train.csv --target label --test test.csv")
def report(
    model: Model,
    data: Data,
    target: Target = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    test: Annotated[
        Path | None, typer.Option(help="Held-out rows, with which the model is judged.", show_default=False)
    ] = None,
    image_shape: Annotated[
        str | None, typer.Option(help="Rows are pictures, e.g. 8x8.", metavar="HxW", show_default=False)
    ] = None,
    title: Annotated[str | None, typer.Option(help="The heading.", show_default=False)] = None,
    max_rows: Annotated[
        int, typer.Option(min=0, max=2000, help="Show at most N random rows; 0 and 2000: the most.")
    ] = 2000,
    encoding: Encoding = "utf8",
    seed: Seed = 0,
) -> None:
    """Write a page on a model: map, neighbours, confusion, features, and why."""
    from gramian.cli.inspecting import report_file
    from gramian.cli.reading import Reading

    reading = Reading(target=target, max_rows=max_rows, seed=seed, encoding=encoding)
    report_file(model, data, out, test, image_shape, title, reading)


@app.command(epilog="Example:  gramian info model.skops")
def info(model: Model) -> None:
    """Show what a model holds and how it was learned."""
    from gramian.cli.inspecting import show_model

    show_model(model)


def show_warning(message: Any, category: Any, *place: Any) -> None:
    """Show a warning as a note, without the line of code it comes from; those of Python's own kind are left out."""
    if not issubclass(category, DeprecationWarning | FutureWarning | PendingDeprecationWarning | ResourceWarning):
        note(f"Note: {message}")


def run(arguments: list[str]) -> int:
    """Run a command, and return its exit code.

    It is 0 if all went well, 1 for a mistake of the user, 2 for wrong usage, and 130 if the user interrupted it.
    """
    with noticing_interrupts() as interrupts:
        code = run_command(arguments, interrupts)
    if code == 130:
        note("Interrupted. Files that were being written are as they were before.")
    sys.stdout.flush()
    return code


def run_command(arguments: list[str], interrupts: list[int]) -> int:
    """Run a command, report its errors, and return its exit code."""
    debug = "--debug" in arguments
    try:
        with warnings.catch_warnings(), interrupts_raised():
            warnings.showwarning = show_warning  # type: ignore[assignment]
            # `report_unseen` tells of these, by the name of the column.
            warnings.filterwarnings("ignore", message="Found unknown categories in columns")
            app([expand_value(each) for each in arguments if each != "--debug"], prog_name="gramian")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if debug:
            traceback.print_exc()
        if interrupts:
            return 130
        note(explain(error))
        if not debug and not is_known(error):
            note("This may be a defect of gramian: --debug shows where it happened.")
        return 1
    return 0


def expand_value(argument: str) -> str:
    """Return an argument such as --out=~/demo with the home folder: shells do so only where a space is between."""
    found = re.fullmatch("(--[a-z-]+=|-[a-z]|)(~[^/]*/.*)", argument, re.DOTALL)
    return argument if found is None else found[1] + os.path.expanduser(found[2])


def is_known(error: Exception) -> bool:
    """Return True for errors that say themselves what to mend."""
    from gramian.cli.mistakes import Mistake

    return isinstance(error, Mistake | OSError | ValueError | MemoryError)
