"""What several answers or several tables cost together, from their promises alone.

Sanitise once, and all questions are free (HLM15, Theorem 4). Everything else composes: questions on the private data,
the columns of one row, a table that is sanitised again. Each rule says whether it is tight or an upper bound. What
known laws cost together, and the least that given promises can be held to, is in `certification.loss`; what a promise
for one row means for several is `Privacy.for_group`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import Any, Literal, get_args

from dproof.arguments import choice, whole
from dproof.errors import InputError
from dproof.exact import exact, exp_above, log_below
from dproof.privacy import Neighbours, Privacy

Blocks = Literal["value", "position"]
Of = Literal["block", "table"]


def basic(promises: Sequence[Privacy]) -> Privacy:
    """The sums of ε and δ. Tight where every δ is 0, else an upper bound.

    >>> basic([Privacy("0.1"), Privacy("0.2", "1e-6")])
    Privacy(epsilon='3/10', delta='1/1000000', neighbours='change-one')
    """
    epsilon = sum((p.epsilon for p in promises), Fraction(0))
    delta = sum((p.delta for p in promises), Fraction(0))
    return Privacy.derived(epsilon, delta, one_relation(promises))


def advanced(privacy: Privacy, times: int, slack: Any) -> Privacy:
    """ε√(2k ln(1/s)) + kε(e^ε − 1) at kδ + s, or the plain sums where these are no larger. An upper bound.

    Dwork, Rothblum and Vadhan 2010. `certification.loss.compose_promises` is never worse, and tight.

    >>> round(float(advanced(Privacy("0.1"), 100, "1e-5").epsilon), 4)
    5.8502
    """
    s, eps = exact(slack, "slack"), privacy.epsilon
    whole(times, "times", 0)
    if not 0 < s < 1:
        raise InputError("slack must lie between 0 and 1, such as 1e-6")
    square = 2 * times * -log_below(s) * eps * eps
    root = Fraction(isqrt(int(square * 4**64)) + 1, 2**64)
    epsilon = root + times * eps * (exp_above(eps) - 1)
    sums = basic([privacy] * times)
    if times * eps <= epsilon:
        return sums
    return Privacy.derived(epsilon, sums.delta + s, privacy.neighbours)


def parallel(promises: Sequence[Privacy], *, blocks: Blocks = "value", of: Of = "block") -> Privacy:
    """What answers on disjoint blocks of the rows cost together; each promise is that of one answer.

    `of` says which tables a promise compares: two states of its own block ("block"), or of the whole table, of which
    the answer looks at one block ("table").

    Blocks by the row's own value: under add-remove a row is in one block, and the largest promise holds. Under
    change-one a changed row can leave one block and enter another. Then promises of the whole table add up, the two
    largest of them. Promises of a block say nothing: the block has a row less, and change-one compares equal sizes.
    Blocks by position: a changed row stays where it is, so the largest promise holds; under add-remove rows have no
    place of their own. Tight where every δ is 0, else an upper bound.

    >>> parallel([Privacy(1), Privacy(2), Privacy(3)], of="table").epsilon
    Fraction(5, 1)
    >>> parallel([Privacy(1, neighbours="add-remove"), Privacy(2, neighbours="add-remove")]).epsilon
    Fraction(2, 1)
    """
    choice(blocks, get_args(Blocks), "blocks")
    choice(of, get_args(Of), "of")
    relation = one_relation(promises)
    moves = relation == "change-one" and blocks == "value"
    if moves and of == "block":
        raise InputError(
            "a changed row can move to another block, and a change-one promise of a block says nothing about a block "
            "with a row more or less: state the promises for add-remove, or, where each holds for the whole table, "
            "say of='table'"
        )
    if relation == "add-remove" and blocks == "position":
        raise InputError("a row that is added moves those behind it to other positions: make the blocks by value")
    # Every pair of blocks can be the pair that a row moves between, so ε and δ are each the worst over the pairs.
    epsilon, delta = (
        sum(sorted((getattr(p, name) for p in promises), reverse=True)[: 2 if moves else 1], Fraction(0))
        for name in ("epsilon", "delta")
    )
    return Privacy.derived(epsilon, delta, relation)


def one_relation(promises: Sequence[Privacy]) -> Neighbours:
    """The relation between neighbours that all promises are stated for."""
    relations = {p.neighbours for p in promises}
    if len(relations) > 1:
        raise InputError("the promises have different neighbours; read those with add-remove as restated('change-one')")
    return relations.pop() if relations else "change-one"
