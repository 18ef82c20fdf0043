"""`dproof design`: the mechanism of least error for a space, with the bound that proves it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, delta_option, epsilon_option, json_option
from dproof.cli.matrix_file import read_matrix
from dproof.cli.output import Page, Table, advise, emit, escape, pairs, promised
from dproof.columns.codec import Column
from dproof.errors import ArgumentError, FileError
from dproof.exact import float_above, float_below
from dproof.laws.law import listed_sizes
from dproof.local.mechanisms import MECHANISMS
from dproof.mechanisms.mechanism import Mechanism, Optimum
from dproof.optimality import design as optimality
from dproof.plans.reader import SPACES, Reader, read_column, read_text, read_toml
from dproof.privacy import Privacy
from dproof.spaces.space import Space

_NAMES = ", ".join(name for name, space in SPACES.items() if "design" in MECHANISMS[space.mechanisms])
_MOST_SHOWN = 11  # inputs and outputs of a matrix that a person is shown


@command
@click.option(
    "--space",
    metavar="SPACE.toml",
    type=PATH,
    required=True,
    help=f"The table of a column, as in a plan: its `space` ({_NAMES}) and the keys of that.",
)
@epsilon_option
@delta_option
@click.option(
    "--loss", metavar="LOSS", default="metric", help="metric, squared, or a file with a matrix, inputs by outputs."
)
@click.option("--outputs", metavar="SPACE.toml", type=PATH, help="A larger space to release into; the same by default.")
@click.option(
    "--prior", metavar="P,…", help="Probabilities of the values, separated by commas; otherwise the worst case."
)
@click.option("--unbiased", is_flag=True, help="For numbers: no bias, least worst-case variance.")
@click.option("--metric-privacy", is_flag=True, help="Multiply ε by the distance of two values.")
@click.option("--law", metavar="FILE", type=PATH, help="Write the law here, as CSV of exact fractions.")
@click.option("--picture", metavar="FILE", type=PATH, help="Draw the law here, as SVG.")
@json_option
def design(
    space: Path,
    epsilon: str,
    delta: str,
    loss: str,
    outputs: Path | None,
    prior: str | None,
    unbiased: bool,
    metric_privacy: bool,
    law: Path | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Find the mechanism of least error for a space, with proof.

    SPACE.toml holds the keys of one column of a plan, such as space = "categories" with values and metric, or a plan
    with one column. docs/keys.md lists the keys of every space.

    With --json: error, the largest expected loss; lower_bound, what no mechanism with this guarantee can beat; gap,
    how far apart they are, relatively; matrix, the law by rows; law, the same in whole numbers.
    """
    privacy = Privacy(epsilon, delta)
    inputs = _space(space)
    mechanism = optimality.design(
        inputs,
        privacy,
        loss=_loss(loss),
        outputs=None if outputs is None else _space(outputs),
        prior=None if prior is None else [p.strip() for p in prior.split(",")],
        unbiased=unbiased,
        metric_privacy=metric_privacy,
    )
    answer = _design_json(mechanism, privacy)
    if picture is not None:
        from dproof.report.drawings import matrix_picture

        picture.write_text(matrix_picture(mechanism), encoding="utf-8")
    if law is not None:
        _write_law(mechanism, law)
    emit(answer, as_json, lambda: _design_page(answer, space.name))
    for written in filter(None, (law, picture)):
        advise(f"written to {written}")


def _space(path: Path) -> Space:
    column = read_toml(read_text(path, "space"), path.name, _column)
    if not column.private or column.space.holds_curves:
        raise FileError(f"{path.name}: a design is for a finite space, and this is none")
    return column.space  # type: ignore[no-any-return]


def _column(top: Reader) -> Column:
    """A column from its keys alone, or from the only [columns.…] of a plan."""
    if "columns" not in top or "space" in top:
        return read_column("column", top)
    columns = top.table("columns")
    name, *others = columns
    if others:
        raise top.wrong("columns", f"are {1 + len(others)}; a design is for one space")
    return read_column(name, columns.table(name))


def _loss(given: str) -> Any:
    if given in ("metric", "squared"):
        return None if given == "metric" else given
    path = Path(given)
    if not path.exists():
        raise ArgumentError(
            f"the loss must be metric, squared or a file with a matrix; there is no file {given[:80]!r}"
        )
    return read_matrix(path).rows


def _design_json(mechanism: Mechanism, privacy: Privacy) -> dict[str, Any]:
    family, optimum = mechanism.family, mechanism.optimum
    inputs, outputs, _ = listed_sizes(family)
    assert isinstance(optimum, Optimum)  # every design has one
    return {
        "mechanism": mechanism.name,
        "source": mechanism.source,
        **privacy.to_json_above(),
        "loss": optimum.loss,
        "error": float_above(optimum.value),
        "lower_bound": float_below(optimum.lower_bound),
        "gap": float_above(optimum.gap),
        "inputs": [_plain(mechanism.inputs.label(n)) for n in range(inputs)],
        "outputs": [_plain(mechanism.outputs.label(n)) for n in range(outputs)],
        "matrix": mechanism.matrix().tolist(),
        "law": dict(family.to_json()),
    }


def _plain(label: Any) -> Any:
    """A label as JSON has it."""
    if isinstance(label, frozenset):
        return sorted(label, key=str)
    return label if label is None or isinstance(label, (bool, int, float, str)) else str(label)


def _write_law(mechanism: Mechanism, path: Path) -> None:
    """The matrix in exact fractions, with labels: what `dproof certify` reads."""
    weights, total = mechanism.weights()
    labels = [str(_plain(mechanism.outputs.label(n))) for n in range(weights.shape[1])]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *labels])
        for n, row in enumerate(weights):
            writer.writerow([str(_plain(mechanism.inputs.label(n))), *(f"{int(w)}/{total}" for w in row)])


def _design_page(answer: dict[str, Any], name: str) -> Page:
    yield (f"\nThe least error for [bold]{escape(name)}[/bold] at {promised(answer)}, loss: {answer['loss']}.\n")
    yield pairs(
        [
            ("error of this design", f"[bold]{answer['error']:.10g}[/bold]"),
            ("no mechanism can beat", f"[bold]{answer['lower_bound'] + 0.0:.10g}[/bold]"),
            ("relative gap, proven", f"{answer['gap']:.2g}"),
        ]
    )
    if max(len(answer["inputs"]), len(answer["outputs"])) <= _MOST_SHOWN:
        inputs, outputs = ([escape(_short(label)) for label in answer[side]] for side in ("inputs", "outputs"))
        rows = ((label, *(f"{100 * p:.3g}" for p in row)) for label, row in zip(inputs, answer["matrix"], strict=True))
        yield "\nThe law in per cent: true values in rows, released ones in columns."
        yield Table(["", *outputs], rows, left=(0,))
    yield ""


def _short(label: Any) -> str:
    return "{" + ", ".join(map(str, label)) + "}" if isinstance(label, list) else str(label)
