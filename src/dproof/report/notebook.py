"""What a notebook shows of a mechanism, a certificate and a release: small tables, nothing to load."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from dproof.certification.certificate import Certificate, Part
from dproof.exact import written
from dproof.mechanisms.mechanism import Mechanism

_MOST = 12  # inputs and outputs of a law that is shown whole


def mechanism_table(mechanism: Mechanism) -> str:
    """The law as a table of probabilities, one row for each input, where it is small; else its size."""
    family = mechanism.family
    title = f"{mechanism.name} ({mechanism.source})"
    if family.inputs is None or family.outputs is None or max(family.inputs, family.outputs) > _MOST:
        inputs = "no end of inputs" if family.inputs is None else f"{family.inputs} inputs"
        outputs = "all multiples of a step" if family.outputs is None else f"{family.outputs} outputs"
        return _table(f"{title}: {inputs}, {outputs}", [], [])
    labels = [mechanism.outputs.label(n) for n in range(family.outputs)]
    rows = [
        [mechanism.inputs.label(n), *(f"{probability:.4f}" for probability in law)]
        for n, law in enumerate(mechanism.matrix())
    ]
    return _table(f"{title}: private with ε = {written(mechanism.epsilon(), 6)}", ["true value", *labels], rows)


def certificate_table(certificate: Certificate) -> str:
    """What each law promises and what it is: ε and δ as promised, ε as it is, the error and the least possible."""
    figures = f"ε = {written(certificate.privacy.epsilon)}, δ = {written(certificate.privacy.delta)}"
    promise = f"{figures}, {certificate.privacy.neighbours}"
    seeded = "" if certificate.private else ". NOT PRIVATE: drawn with seeded coins"
    return _table(f"Certified: {promise}{seeded}", _PARTS, map(_part, certificate.parts))


def release_table(release: Any) -> str:
    """A release in a line, and the laws it was drawn from."""
    return _table(repr(release).strip("<>"), _PARTS, map(_part, release.law.parts))


_PARTS = ["law", "mechanism", "ε", "δ", "tight ε", "error", "at best"]


def _part(part: Part) -> list[str]:
    error, bound = ("" if value is None else written(value) for value in (part.error, part.lower_bound))
    promise = (written(part.privacy.epsilon), written(part.privacy.delta))
    return [part.name, part.mechanism, *promise, written(part.epsilon, 6), error, bound]


def _table(title: str, head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    names = "".join(f"<th>{html.escape(str(name))}</th>" for name in head)
    lines = ("".join(f"<td>{html.escape(str(value))}</td>" for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>" if head else ""
    return f"<p>{html.escape(title)}</p>{table}"
