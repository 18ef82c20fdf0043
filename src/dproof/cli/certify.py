"""`dproof certify`: exactly how private the law in a file is."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import click

from dproof.certification import certify as certification
from dproof.certification.certify import Witness, find_witness
from dproof.cli.command import PATH, command, delta_option, epsilon_option, json_option
from dproof.cli.matrix_file import read_law
from dproof.cli.output import Page, advise, emit, escape, pairs, promised
from dproof.exact import exp_below
from dproof.laws.divergence import Worst
from dproof.laws.law import listed_sizes
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy

_MOST_OUTPUTS = 12  # outputs of the worst set that a person is shown


@command
@click.argument("matrix", metavar="MATRIX", type=PATH, help="The law: a .csv, .json or .npy file.")
@epsilon_option
@delta_option
@json_option
@click.option("--certificate", metavar="FILE", type=PATH, help="Write the certificate here if it holds.")
def certify(matrix: Path, epsilon: str, delta: str, as_json: bool, certificate: Path | None) -> None:
    """Say exactly how private a mechanism is, with the worst case.

    MATRIX has a row for each input (a value of one person's row) and a column for each output; the entries are
    probabilities: decimals, or fractions such as 1/3. A header row and a column of labels are recognised. JSON
    holds a list of rows, or an object with inputs, outputs and rows. Without labels, both are numbered from 0.

    With --json: private; delta, the tight one at this ε; epsilon, the tight one at this δ, or "inf"; witness, the
    pair of inputs and the set of outputs that decide it. The exit code is 0 if it is private, 1 if not.
    """
    privacy = Privacy(epsilon, delta)
    mechanism = read_law(matrix)
    decision = certification.decide(mechanism.family, privacy.epsilon, privacy.delta)
    holds, worst = decision.holds, decision.worst
    answer = _certify_json(mechanism, privacy, holds, worst)
    emit(answer, as_json, lambda: _certify_page(answer, matrix.name))
    if not holds:
        raise click.exceptions.Exit(1)
    if certificate is not None:
        certification.certify(mechanism, privacy).write(certificate)
        advise(f"the certificate is in {certificate}")


def _certify_json(mechanism: Mechanism, privacy: Privacy, holds: bool, worst: Worst) -> dict[str, Any]:
    tight = mechanism.epsilon(privacy.delta)
    witness = _witness(mechanism, privacy, worst)
    return {
        "private": holds,
        "delta": mechanism.delta(privacy.epsilon),
        "epsilon": "inf" if tight == inf else tight,
        "witness": witness
        and {
            "from": witness.d,
            "to": witness.d_prime,
            "set": None if witness.outputs is None else list(witness.outputs),
            "probability_from": _float(witness.probability),
            "probability_to": _float(witness.probability_prime),
        },
        "promised": privacy.to_json_above(),
        "neighbours": privacy.neighbours,
        "inputs": mechanism.family.inputs,
        "outputs": mechanism.family.outputs,
    }


def _witness(mechanism: Mechanism, privacy: Privacy, worst: Worst) -> Witness | None:
    """The pair and the set that come nearest to breaking the promise; a single input has no neighbour."""
    family = mechanism.family
    if family.inputs == 1:
        return None
    if worst.value > 0:
        return find_witness(mechanism, worst.source, worst.target, exp_below(privacy.epsilon))
    # No set exceeds these odds, so the largest ratio of all is told; two ratios differ by at least 1/total².
    odds = family.odds(Fraction(0))
    _, _, total = listed_sizes(family)
    largest = Fraction(total + 1) if odds.value is None else odds.value
    return find_witness(mechanism, odds.source, odds.target, largest - Fraction(1, 2 * total**2))


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _certify_page(answer: dict[str, Any], name: str) -> Page:
    given, witness = answer["promised"], answer["witness"]
    verdict = "[bold green]private[/bold green]" if answer["private"] else "[bold red]not private[/bold red]"
    yield (
        f"\n[bold]{escape(name)}[/bold], {answer['inputs']} inputs by {answer['outputs']} outputs, is {verdict} "
        f"at {promised(answer['promised'])} ({answer['neighbours']}).\n"
    )
    infinite = "infinite: some outputs rule an input out"
    epsilon = infinite if answer["epsilon"] == "inf" else f"{answer['epsilon']:.10g}"
    rows = [
        (f"tight δ at ε = {given['epsilon']:.6g}", f"[bold]{answer['delta']:.10g}[/bold]"),
        (f"tight ε at δ = {given['delta']:.6g}", f"[bold]{epsilon}[/bold]"),
    ]
    if witness is not None:
        rows.append(("worst pair", f"from {escape(witness['from'])} to {escape(witness['to'])}"))
        if witness["set"] is not None:
            rows.append(("worst set A", escape(_listed(witness["set"]))))
            chances = f"{witness['probability_from']:.10g} and {witness['probability_to']:.10g}"
            rows.append(("probabilities of A", chances))
    yield pairs(rows)
    yield ""


def _listed(outputs: list[Any]) -> str:
    more = f", … ({len(outputs)} in all)" if len(outputs) > _MOST_OUTPUTS else ""
    return ", ".join(map(str, outputs[:_MOST_OUTPUTS])) + more
