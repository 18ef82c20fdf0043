"""Sanitise a table once; afterwards anything may be asked of it.

Who pays for a release is asked before the first row is read, and told when the release is published.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from dproof.advice.before_spending import public_rows, tells_little, tells_nothing
from dproof.arguments import as_path, described, named
from dproof.central.recipe import TableLaw, certify_tables
from dproof.central.release import measure_tables
from dproof.central.release import rehearse as rehearse_tables
from dproof.central.release import write as write_tables
from dproof.certification.certify import read_certificate
from dproof.coins import current
from dproof.curator.ledger import Ledger
from dproof.errors import DproofWarning, FileError, PlanError, VerificationFailed
from dproof.local.draw import (
    aligned,
    drawn_rows,
    drawn_types,
    rehearse,
    sanitised_blocks,
    write_parts,
    write_whole,
)
from dproof.local.recipe import RowLaw, certify_row
from dproof.local.release import LocalRelease, about, check_enough, finish, prepare, shuffled_rows
from dproof.plans.plan import Plan
from dproof.plans.rows import check_types
from dproof.privacy import Cost
from dproof.recipe import Release, ReleaseRecipe
from dproof.releases.load import load
from dproof.releases.verify import check
from dproof.storage import (
    CERTIFICATE,
    PLAN,
    REPORT,
    appearing,
    check_absent,
    check_room,
    finish_earlier,
    is_remote,
)
from dproof.tables import Source, open_source
from dproof.tables.source import Progress


class ReleasePayment:
    """Pays for the release in one folder; the ledger is begun with what the plan promises a person if there is none.

    A run that stops between the debit and the release has published nothing. So the same folder is drawn again at no
    further cost, also under a plan that was mended: only what that costs beyond is paid. Of all the draws that one
    debit pays for, at most one is ever published. In another folder it is another release, because a draw that was
    left in the first would never be swept away.

    With `is_whole` all that the ledger counts has to keep to what this plan promises, also where its own budget is
    larger.
    """

    def __init__(self, path: str | os.PathLike[str], out: str | os.PathLike[str], *, is_whole: bool = False) -> None:
        self.path, self._place, self._is_whole = path, Path(os.path.realpath(out)), is_whole
        self.resumed = False
        self._ledger: Ledger | None = None
        self._law: ReleaseRecipe[Any] | None = None
        self._number: int | None = None

    @property
    def outstanding(self) -> bool:
        """Whether it is paid for and not published: the ledger knows, wherever this run was stopped."""
        return self._law is not None and self._unpublished(self._law) is not None

    @property
    def finished(self) -> bool:
        """Of a release that is made: whether an earlier run drew it, so that this one had nothing to pay for."""
        return self._law is None

    def pay(self, law: ReleaseRecipe[Any]) -> None:
        """Debit what a person may lose by it, unless that was done before and nothing came of it."""
        ledger, (_, description, (place, _)) = self._opened(law), self._entry(law)
        self._law = law
        earlier = self._unpublished(law)
        self.resumed = earlier is not None
        if earlier is None and self.published(law):
            warnings.warn(
                f"the ledger says that {self._place.name!r} was published here before, and it is gone: what it cost "
                "stays spent, and a new release costs as much again",
                DproofWarning,
                stacklevel=2,
            )
        if earlier is not None:
            ledger.pay_more(earlier, law.cost)
        self._number = ledger.release(law.cost, description, plan=place) if earlier is None else earlier

    def settle(self, seal: str | None) -> None:
        """Take down that it is published, before anybody can see it; refused where another run has published it.

        The seal of its certificate tells it from other draws; there is none yet where rows are seen before it is made.
        """
        assert self._law is not None and self._number is not None
        self._opened(self._law).publish(self._number, seal)

    def published(self, law: ReleaseRecipe[Any]) -> Set[str]:
        """The seals of all draws for this folder that were taken down as published."""
        if not Ledger.is_begun(self.path):
            return frozenset()
        cost, description, digests = self._entry(law)
        ledger = self._opened(law)
        return {seal for digest in digests for seal in ledger.published(cost, description, digest)}

    def _unpublished(self, law: ReleaseRecipe[Any]) -> int | None:
        """The number of a debit for this folder that nothing came of, in the ledger."""
        cost, description, digests = self._entry(law)
        found = (self._opened(law).unpublished(cost, description, digest) for digest in digests)
        return next((number for number in found if number is not None), None)

    def _opened(self, law: ReleaseRecipe[Any]) -> Ledger:
        if self._ledger is None:
            # A release may lose less than the plan promises.
            budget = None if Ledger.is_begun(self.path) else law.plan.promised
            ceiling = law.plan.promised if self._is_whole else None
            self._ledger = Ledger(self.path, budget=budget, unit=law.plan.unit, ceiling=ceiling)
        return self._ledger

    def _entry(self, law: ReleaseRecipe[Any]) -> tuple[Cost, str, tuple[str, str]]:
        """What the ledger keeps of it: its cost, its name, and a digest of its place, so no path is told.

        The second digest, of the place and the plan, is that of earlier versions.
        """
        place = os.fsencode(self._place) + b"\0"
        digests = hashlib.sha256(place).hexdigest(), hashlib.sha256(place + law.plan.text.encode()).hexdigest()
        return law.cost, f"release {self._place.name}", digests


_PAGE_BYTES = 4e6  # bytes for the page and the certificate
_UNCHANGED_ROWS = 1 / 100  # expected number of rows published as they are, from which a curator is warned


@named
def sanitise(
    source: Any,
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str] | None = None,
    *,
    table: str | None = None,
    progress: Progress | None = None,
    payment: ReleasePayment | None = None,
    anyway: bool = True,
) -> Release:
    """The sanitised table of a path, a frame, a relation or an array: stored in the folder `out`, or held in memory.

    Spark also takes the URI of a folder on a file system of its own, such as `s3a://bucket/release`.

    The law of a row is certified before any data is opened. Then every row is drawn from the law of its own values,
    independently, and the table costs what one row costs (HLM15: product sanitisation, equation (7), Theorem 5). With
    `model = "central"` tables of the whole are measured instead.

    Whatever can fail without data (the plan, the law, the charts and the page, the folder, room on the disk) fails
    before `payment` is asked to pay, and that comes before the first row is read.

    `source` is a path, a frame, a relation or an array of private rows, and `plan` a Plan, its path or a mapping.
    `table` names the table inside a DuckDB file. `progress` is called with the rows just read and how many there are,
    or None, and with 0 rows when synthetic rows are being made. With `anyway=False` a release that would tell nothing
    is refused, and one that would tell little is warned of, before it is paid for, where the number of rows is public;
    `source` must then be one that can be read twice, such as a path.

    >>> import pyarrow
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": [0, 1]}}}
    >>> sanitise(pyarrow.table({"read": [0, 1, 1]}), plan).rows
    3
    """
    chosen = Plan.of(plan)
    if progress is not None and not callable(progress):
        raise FileError(
            "progress must be a function of two numbers, the rows just read and how many there are, "
            f"not {described(progress)}"
        )
    central = chosen.model == "central"
    if central and is_remote(out):
        raise FileError("a release of tables is small: give the name of a folder on a disk, and copy it from there")
    law: Any = certify_tables(chosen) if central else certify_row(chosen)
    opened = _opened(source, table, chosen, out)
    if chosen.shuffle.rows is not None and (is_remote(out) or opened.spread is not None):
        raise PlanError("model = 'shuffled' needs all rows in one order, and Spark writes them in parts: take 'local'")
    if not anyway:
        _refuse_noise(opened, law)
    if is_remote(out):
        release = write_elsewhere(opened, law, out, payment)
    else:
        draw = partial(_draw_tables if central else _draw_rows, opened, law, progress)
        release = _drawn(draw, law, None if out is None else Path(out), payment)
    if not central:
        _warn(release.rows or 0, law)
    return release


sanitize = sanitise  # the American spelling


def _draw_rows(
    source: Source, law: RowLaw, progress: Progress | None, folder: Path | None, pay: Callable[[], None] | None
) -> Release:
    """Sanitised rows, in memory or in a folder: everything that can fail without data comes before the payment."""
    coins = current()
    blocks = aligned(sanitised_blocks(source, law, coins, progress), law, coins.private)
    if folder is None:
        if pay is not None:
            rehearse(law)
            pay()
        schema, batches = next(blocks), list(blocks)
        stored = pa.Table.from_batches(batches, schema)
        check_enough(law, stored.num_rows)
        added = {} if law.plan.shuffle.rows is None else shuffled_rows(law, stored.num_rows)
        certificate = law.record(about(law, stored.num_rows, {}) | added, private=coins.private)
        return LocalRelease(law, certificate, table=stored)
    prepared, spread = prepare(law), source.spread
    if source.rows is not None:
        check_enough(law, source.rows)
    check_room(folder, _PAGE_BYTES + rehearse(law) * (source.rows or 0))
    if pay is not None:
        pay()
    written = write_whole(blocks, folder) if spread is None else write_parts(spread, law, folder)
    check_enough(law, written[0])
    return LocalRelease(prepared[0], finish(folder, prepared, written, coins.private), folder)


def _draw_tables(
    source: Source, law: TableLaw, progress: Progress | None, folder: Path | None, pay: Callable[[], None] | None
) -> Release:
    """Measured tables, in memory or in a folder: everything that can fail without data comes before the payment."""
    coins, size = current(), rehearse_tables(law)
    if folder is not None:
        check_room(folder, _PAGE_BYTES + size)
    if pay is not None:
        pay()
    made = measure_tables(source, law, coins, progress)
    return made if folder is None else replace(made, certificate=write_tables(folder, made), folder=folder, table=None)


def _drawn(
    draw: Callable[[Path | None, Callable[[], None] | None], Any],
    law: ReleaseRecipe[Any],
    out: Path | None,
    payment: ReleasePayment | None,
) -> Release:
    """A new release, in memory or in a folder; or there the one that an earlier run paid for and could not name."""
    pay = None if payment is None else partial(payment.pay, law)
    published = frozenset[str] if payment is None else partial(payment.published, law)
    made: Any = None

    def settle() -> None:
        if payment is not None:
            payment.settle(made.certificate["seal"])

    if out is None:
        made = draw(None, pay)
        settle()
    elif finish_earlier(out, lambda left: _is_by(left, law.plan) and _checked(left, published())):
        made = load(out)
    else:
        with appearing(out, settle, lambda left: _seal(left) in published()) as folder:
            made = replace(draw(folder, pay), folder=out)
    release: Release = made
    return release


def _opened(source: Any, table: str | None, plan: Plan, out: Any) -> Source:
    """The source of a release, whose first rows and types can be read, and whose folder is not there yet."""
    if out is not None and not is_remote(out):
        check_absent(as_path(out, "out"))
    opened = open_source(source, table, plan.file)
    plan.check_names(opened.names)
    opened.start()
    # Of rows that are drawn one by one nobody asks whose they are.
    asked = replace(plan, person=None) if plan.model == "local" else plan
    check_types(opened, asked, [column for column in plan.columns if column.private])
    return opened


def _refuse_noise(source: Source, law: Any) -> None:
    """Refuse a release that would tell nothing, and warn of one that would tell little."""
    rows = public_rows(source, law)
    if rows is None:
        return
    nothing, little = tells_nothing(law, rows), tells_little(law, rows)
    if nothing is not None:
        raise PlanError(f"{nothing}; anyway=True makes the release anyway")
    if little is not None:
        warnings.warn(little, DproofWarning, stacklevel=3)


def _seal(folder: Path) -> str | None:
    """The seal of the certificate in a folder; None where there is none that can be read."""
    try:
        seal = read_certificate(folder / CERTIFICATE).get("seal")
    except VerificationFailed:
        return None
    return seal if isinstance(seal, str) else None


def _is_by(left: Path, plan: Plan) -> bool:
    """Whether a draw that was left was made by this plan, and not by another for the same folder."""
    try:
        return (left / PLAN).read_bytes() == plan.text.encode()
    except OSError:
        return False


def _checked(left: Path, published: Set[str]) -> bool:
    """Whether this is a release that was published and is still as it was."""
    if _seal(left) not in published:
        return False
    try:
        check(left)
    except VerificationFailed as error:
        raise VerificationFailed(
            f"an earlier run paid for this release and finished it as {str(left)!r}, and that was changed since "
            f"({error}): delete it to make a new release, which costs as much again"
        ) from None
    return True


def _warn(rows: int, law: RowLaw) -> None:
    if not rows:  # which a release shows, and change-one has made public
        warnings.warn("the table has no rows, so the release is empty", DproofWarning, stacklevel=3)
    expected = float(rows * law.plan.privacy.delta)
    if expected > _UNCHANGED_ROWS:
        warnings.warn(
            f"with delta > 0 a law may publish a true value with probability delta: over {rows} rows that is "
            f"{expected:.3g} on average; choose delta well below one over the number of rows",
            DproofWarning,
            stacklevel=3,
        )


def write_elsewhere(source: Source, law: RowLaw, uri: str, payment: ReleasePayment | None) -> Release:
    """Have the engine write the release to a file system of its own: the rows, then the rest, the certificate last."""
    if source.store is None:
        raise FileError(f"only Spark writes to {uri.partition(':')[0]}://: give the name of a folder on a disk")
    draw, types, deal = partial(drawn_rows, law), partial(drawn_types, law), law.plan.order == "shuffle"
    prepared = prepare(law)
    rehearse(law)
    if payment is not None:
        payment.pay(law)
        payment.settle(None)  # from now on there are rows that others may see
    try:
        with source.store(uri, law.plan.sources, draw, types, deal) as (written, put), TemporaryDirectory() as here:
            certificate = finish(Path(here), prepared, written, current().private)
            for name in (PLAN, REPORT, CERTIFICATE):
                put(Path(here) / name)
    except BaseException as error:
        error.add_note(f"a part of the release may have been seen in {uri}, so what was paid for it is spent")
        raise
    return LocalRelease(prepared[0], certificate, uri)
