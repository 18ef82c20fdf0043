"""Numbers that were sanitised by their bins: what a question sees of these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dproof.errors import InputError
from dproof.laws.debias import Mixed, Scale, Seen, Unmixed
from dproof.laws.law import Law, listed
from dproof.questions.cells import Cut
from dproof.spaces.bins import Bins


def unmix_bins(law: Law, seen: list[Seen], bins: list[Bins | None], others: int, name: str) -> Unmixed:
    """What undoes the law of some columns, of which those with `bins` were sanitised by them.

    A condition at the edges is a count of bins, and as exact as a condition on categories.
    """
    at_edges = [column if own is None else _at_edges(column, own, name) for column, own in zip(seen, bins, strict=True)]
    found = [column for column in at_edges if column is not None]
    if len(found) == len(seen):
        return law.unmix(found, others, name)
    (column, *more), (own, *_) = seen, bins
    if more or others > 1 or own is None:
        raise InputError(
            f"{name} were sanitised together, numbers by their bins: ask for counts at their edges, not for sums"
        )
    return _between_edges(law, column, own, name)


def _at_edges(column: Seen, bins: Bins, name: str) -> Seen | None:
    """The column with bins for values; None where a question tells values of one bin apart, or adds them up."""
    cut = column.blocks
    if column.scale is not None or bins.cut_by(cut.first[1:][np.diff(cut.block) != 0].tolist()):
        return None
    codes, block = np.arange(bins.size), cut.of(np.array(bins.starts))
    sizes = np.bincount(block, minlength=cut.blocks).astype(float)
    return replace(column, blocks=Cut(name, codes, codes, block, sizes), space=bins.space)


def _between_edges(law: Law, column: Seen, bins: Bins, name: str) -> Unmixed:
    """Where in its bin a value lies is not told: a node for both ends of each part of a bin, all with the bin's law."""
    inputs, outputs, total = listed(law)
    matrix = np.asarray(np.array([law.weights(n) for n in range(inputs)]) / total, float)
    cut, scale = column.blocks, column.scale or Scale()
    starts = np.unique(np.concatenate([bins.starts, cut.first]))
    codes = np.unique(np.concatenate([starts, np.append(starts[1:], bins.stop) - 1]))
    bin_of, member = bins.of(codes), np.eye(cut.blocks)[cut.of(codes)]
    values = np.where(codes == column.space.absent, 0.0, scale.numbers(column.space, codes))
    share = np.eye(bins.size)[:, bin_of]
    share /= share.sum(axis=1, keepdims=True)
    # A released code that is no bin stands for those that may have given it, as likely as it makes them.
    likely = np.eye(inputs) if inputs == outputs else (matrix / np.maximum(matrix.sum(axis=0), 1e-300)).T
    shown = likely @ share
    axis = Mixed(name, matrix[bin_of], member, values, shown @ member, shown @ values, rough=True)
    return Unmixed((axis,), lambda released: released[0])
