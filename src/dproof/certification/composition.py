"""What several answers, several rows or several tables cost together.

Sanitise once, and all questions are free (HLM15, Theorem 4). Everything else composes: questions on the private data,
the columns of one row, a table that is sanitised again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

from dproof.certification.loss import Composed, Loss, compose, dominating
from dproof.errors import InputError
from dproof.exact import exact, exp_above, log_below, root_above
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Neighbours, Privacy


def basic(promises: Sequence[Privacy]) -> Privacy:
    """The sums of ε and δ.

    >>> basic([Privacy("0.1"), Privacy("0.2", "1e-6")])
    Privacy(epsilon='3/10', delta='1/1000000', neighbours='change-one')
    """
    epsilon = sum((p.epsilon for p in promises), Fraction(0))
    delta = sum((p.delta for p in promises), Fraction(0))
    return Privacy(epsilon, min(delta, Fraction(1)), neighbours=_one_relation(promises))


def advanced(privacy: Privacy, times: int, slack: Any) -> Privacy:
    """ε√(2k ln(1/s)) + kε(e^ε − 1) at kδ + s, or the plain sums where these are no larger.

    Dwork, Rothblum and Vadhan 2010. `optimal` is never worse, and exact.

    >>> round(float(advanced(Privacy("0.1"), 100, "1e-5").epsilon), 4)
    5.8502
    """
    s, eps = exact(slack, "slack"), privacy.epsilon
    if not 0 < s < 1 or times < 0:
        raise InputError("slack must lie between 0 and 1, and the number of times be at least 0")
    square = 2 * times * -log_below(s) * eps * eps
    epsilon = root_above(square) + times * eps * (exp_above(eps) - 1)
    sums = basic([privacy] * times)
    if times * eps <= epsilon:
        return sums
    return Privacy(epsilon, min(Fraction(1), sums.delta + s), neighbours=privacy.neighbours)


def optimal(promises: Sequence[Privacy]) -> Composed:
    """The least that any composition of mechanisms with these promises can be held to, exactly.

    δ_k(t) = 1 − (1−δ)^k (1 − Σ_l C(k,l) (e^((k−l)ε) − e^(t+lε))₊ / (1+e^ε)^k) for k equal promises (Kairouz, Oh and
    Viswanath 2015); for different ones the sum over all subsets (Murtagh and Vadhan 2016), up to about 20 of them.

    >>> round(optimal([Privacy("0.1")] * 100).epsilon("1e-5"), 6)
    4.306791
    """
    _one_relation(promises)
    return compose([Loss.of_privacy(p) for p in promises])


def of_mechanisms(mechanisms: Sequence[Mechanism]) -> Composed:
    """What the laws themselves cost together, which is less than what their promises do.

    >>> from dproof import Categories
    >>> from dproof.mechanisms.randomised_response import response_with
    >>> twice = of_mechanisms([response_with(Categories([0, 1, 2]), "0.2")] * 2)
    >>> round(twice.delta("0.4"), 10)
    0.4209810363
    """
    return compose([dominating(m.family) for m in mechanisms])


def group(privacy: Privacy, rows: int) -> Privacy:
    """What a promise for one row means for g rows: gε and δ·(1 + e^ε + … + e^((g−1)ε)).

    For a product sanitisation the exact g-fold composition `of_mechanisms([m] * g)` is much smaller.

    >>> round(float(group(Privacy("0.4", "0.01"), 2).delta), 10)
    0.024918247
    """
    if rows < 0:
        raise InputError("a group has at least 0 rows")
    growth = sum((exp_above(n * privacy.epsilon) for n in range(rows)), Fraction(0))
    return Privacy(rows * privacy.epsilon, min(Fraction(1), privacy.delta * growth), neighbours=privacy.neighbours)


def as_change_one(privacy: Privacy) -> Privacy:
    """An add-remove promise read as a change-one promise: changing a row is removing one and adding another.

    >>> as_change_one(Privacy("0.4", neighbours="add-remove")).epsilon
    Fraction(4, 5)
    """
    if privacy.neighbours == "change-one":
        return privacy
    doubled = group(privacy, 2)
    return Privacy(doubled.epsilon, doubled.delta)


def parallel(
    promises: Sequence[Privacy],
    *,
    blocks: Literal["value", "position"] = "value",
    of: Literal["block", "table"] = "block",
) -> Privacy:
    """What answers on disjoint blocks of the rows cost together; each promise is that of one answer.

    `of` says which tables a promise compares: two states of its own block ("block"), or of the whole table, of which
    the answer looks at one block ("table").

    Blocks by the row's own value: under add-remove a row is in one block, and the largest promise holds. Under
    change-one a changed row can leave one block and enter another. Then promises of the whole table add up, the two
    largest of them. Promises of a block say nothing: the block has a row less, and change-one compares equal sizes.
    Blocks by position: a changed row stays where it is, so the largest promise holds; under add-remove rows have no
    place of their own.

    >>> parallel([Privacy(1), Privacy(2), Privacy(3)], of="table").epsilon
    Fraction(5, 1)
    >>> parallel([Privacy(1, neighbours="add-remove"), Privacy(2, neighbours="add-remove")]).epsilon
    Fraction(2, 1)
    """
    if blocks not in ("value", "position"):
        raise InputError("blocks are made by 'value' or by 'position'")
    if of not in ("block", "table"):
        raise InputError("a promise is of its 'block' or of the whole 'table'")
    relation = _one_relation(promises)
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
    return Privacy(epsilon, min(delta, Fraction(1)), neighbours=relation)


def _one_relation(promises: Sequence[Privacy]) -> Neighbours:
    relations = {p.neighbours for p in promises}
    if len(relations) > 1:
        raise InputError("the promises have different neighbours; convert those with add-remove by as_change_one")
    return relations.pop() if relations else "change-one"
