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
from typing import Any, Protocol

import pyarrow as pa

from dproof.arguments import as_path, described
from dproof.central.measure import measure
from dproof.central.recipe import TableLaw, certify_tables
from dproof.central.release import rehearse as rehearse_tables
from dproof.central.release import write as write_tables
from dproof.certification.certificate import read_certificate
from dproof.coins import current
from dproof.curator.ledger import Ledger, is_begun
from dproof.errors import DproofWarning, FileError, VerificationFailed
from dproof.local.draw import (
    Progress,
    aligned,
    drawn_rows,
    drawn_types,
    rehearse,
    sanitised_blocks,
    write_parts,
    write_whole,
)
from dproof.local.recipe import RowLaw, certify_row
from dproof.local.release import LocalRelease, about, finish, prepare
from dproof.plans.plan import Plan
from dproof.privacy import Privacy
from dproof.recipe import Release
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


class Priced(Protocol):
    """The law of a release, whatever its model: what a person may lose by it, and what the plan promises a person."""

    @property
    def plan(self) -> Plan: ...

    @property
    def person(self) -> Privacy:
        """What the release costs a person."""

    @property
    def promised(self) -> Privacy:
        """What the plan promises a person, which may be more: a ledger begins with it."""


class Payment(Protocol):
    """What `sanitise` asks of an account, such as a curator's ledger."""

    def pay(self, law: Priced) -> None:
        """Pay before the first row is read, or refuse by raising."""

    def settle(self, seal: str | None) -> None:
        """Take down that what was paid for is published: the last step before anybody can see anything of it.

        The seal of its certificate tells it from other draws; there is none yet where rows are seen before it is made.
        """

    def published(self, law: Priced) -> Set[str]:
        """The seals of those that were taken down as published, by this run or by earlier ones."""


class NoAccount:
    """Nothing is counted: who makes the release adds up what the table has told."""

    def pay(self, law: Priced) -> None:
        pass

    def settle(self, seal: str | None) -> None:
        pass

    def published(self, law: Priced) -> Set[str]:
        return frozenset()


class ReleasePayment:
    """Pays for the release in one folder; the ledger is begun with what the plan promises a person if there is none.

    A run that stops between the debit and the release has published nothing. So the same folder under the same plan is
    drawn again at no further cost: of all the draws that one debit pays for, at most one is ever published. In another
    folder it is another release, because a draw that was left in the first would never be swept away.
    """

    def __init__(self, path: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
        self.path, self._place = path, Path(os.path.realpath(out))
        self.resumed = False
        self._ledger: Ledger | None = None
        self._law: Priced | None = None
        self._number: int | None = None

    @property
    def outstanding(self) -> bool:
        """Whether it is paid for and not published: the ledger knows, wherever this run was stopped."""
        return self._law is not None and self._opened(self._law).unpublished(*self._told(self._law)) is not None

    @property
    def finished(self) -> bool:
        """Of a release that is made: whether an earlier run drew it, so that this one had nothing to pay for."""
        return self._law is None

    def pay(self, law: Priced) -> None:
        """Debit what a person may lose by it, unless that was done before and nothing came of it."""
        ledger, (cost, description, plan) = self._opened(law), self._told(law)
        self._law = law
        earlier = ledger.unpublished(cost, description, plan)
        self.resumed = earlier is not None
        if earlier is None and self.published(law):
            warnings.warn(
                f"the ledger says that {self._place.name!r} was published here before, and it is gone: what it cost "
                "stays spent, and a new release costs as much again",
                DproofWarning,
                stacklevel=2,
            )
        self._number = ledger.release(cost, description, plan=plan) if earlier is None else earlier

    def settle(self, seal: str | None) -> None:
        """Take down that it is published; refused where another run has published it meanwhile."""
        assert self._law is not None and self._number is not None
        self._opened(self._law).publish(self._number, seal)

    def published(self, law: Priced) -> Set[str]:
        """The seals of all draws for this folder and plan that were taken down as published."""
        return self._opened(law).published(*self._told(law)) if is_begun(self.path) else frozenset()

    def _opened(self, law: Priced) -> Ledger:
        if self._ledger is None:
            budget = None if is_begun(self.path) else law.promised
            self._ledger = Ledger(self.path, budget=budget, unit=law.plan.unit)
        return self._ledger

    def _told(self, law: Priced) -> tuple[Privacy, str, str]:
        """What the ledger keeps of it: its cost, its name, and one digest of its place and plan, so no path is told."""
        # A ledger counts what a person loses, as a curator does, and a person may own several rows.
        digest = hashlib.sha256(os.fsencode(self._place) + b"\0" + law.plan.text.encode()).hexdigest()
        return law.person, f"release {self._place.name}", digest


_ROOM = 4e6  # bytes for the page and the certificate
_RARE = 1 / 100  # expected number of rows published as they are, from which a curator is warned


def sanitise(
    source: Any,
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str] | None = None,
    *,
    table: str | None = None,
    progress: Progress | None = None,
    payment: Payment | None = None,
) -> Release:
    """The sanitised table of a path, a frame, a relation or an array: stored in the folder `out`, or held in memory.

    Spark also takes the URI of a folder on a file system of its own, such as `s3a://bucket/release`.

    The law of a row is certified before any data is opened. Then every row is drawn from the law of its own values,
    independently (product sanitisation, HLM15, equation (7)), and the table costs what one row costs (Theorem 5). With
    `model = "central"` tables of the whole are measured instead.

    Whatever can fail without data (the plan, the law, the charts and the page, the folder, room on the disk) fails
    before `payment` is asked to pay, and that comes before the first row is read.

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
    if chosen.model == "central":
        return _sanitise_tables(source, chosen, out, table, progress, payment or NoAccount())
    law = certify_row(chosen)
    opened = _opened(source, table, law.plan, out)
    coins, payer = current(), payment or NoAccount()
    blocks = aligned(sanitised_blocks(opened, law, coins, progress), law, coins.private)
    if out is None:
        if payment is not None:
            rehearse(law)
        payer.pay(law)
        schema, batches = next(blocks), list(blocks)
        stored = pa.Table.from_batches(batches, schema)
        certificate = law.record(about(law, stored.num_rows, {}), private=coins.private)
        release: Release = LocalRelease(law, certificate, table=stored)
        payer.settle(certificate["seal"])
    elif is_remote(out):
        release = write_elsewhere(opened, law, out, payer)
    else:

        def write(folder: Path) -> Release:
            prepared, spread = prepare(law), opened.spread
            check_room(folder, _ROOM + rehearse(law) * (opened.rows or 0))
            payer.pay(law)
            rows, files = write_whole(blocks, folder) if spread is None else write_parts(spread, law, folder)
            return LocalRelease(prepared[0], finish(folder, prepared, rows, files, coins.private), Path(out))

        release = _stored(Path(out), law, payer, write)
    _warn(release.rows or 0, law)
    return release


sanitize = sanitise  # the American spelling


def _sanitise_tables(
    source: Any, plan: Plan, out: Any, table: str | None, progress: Progress | None, payer: Payment
) -> Release:
    """The measured tables of a plan of the central model: everything that can fail without data comes first."""
    if is_remote(out):
        raise FileError("a release of tables is small: give the name of a folder on a disk, and copy it from there")
    law, coins = certify_tables(plan), current()
    opened = _opened(source, table, plan, out)
    size = rehearse_tables(law)
    if out is None:
        payer.pay(law)
        release = measure(opened, law, coins, progress)
        payer.settle(release.certificate["seal"])
        return release

    def write(folder: Path) -> Release:
        check_room(folder, _ROOM + size)
        payer.pay(law)
        made = measure(opened, law, coins, progress)
        return replace(made, certificate=write_tables(folder, made), folder=Path(out), table=None)

    return _stored(Path(out), law, payer, write)


def _opened(source: Any, table: str | None, plan: Plan, out: Any) -> Source:
    """The source of a release, whose first rows can be read, and whose folder is not there yet."""
    if out is not None and not is_remote(out):
        check_absent(as_path(out, "out"))
    opened = open_source(source, table, plan.file)
    plan.check_names(opened.names)
    opened.start()
    return opened


def _stored(out: Path, law: RowLaw | TableLaw, payer: Payment, write: Callable[[Path], Release]) -> Release:
    """The release in a folder: the one that an earlier run paid for and could not name, or a new one."""
    if finish_earlier(out, lambda left: _checked(left, payer.published(law))):
        return load(out)
    made: list[Release] = []

    def settle() -> None:
        payer.settle(made[0].certificate["seal"])

    with appearing(out, settle, lambda left: _seal(left) in payer.published(law)) as folder:
        made.append(write(folder))
    return made[0]


def _seal(folder: Path) -> str | None:
    """The seal of the certificate in a folder; None where there is none that can be read."""
    try:
        seal = read_certificate(folder / CERTIFICATE).get("seal")
    except VerificationFailed:
        return None
    return seal if isinstance(seal, str) else None


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
    if expected > _RARE:
        warnings.warn(
            f"with delta > 0 a law may publish a true value with probability delta: over {rows} rows that is "
            f"{expected:.3g} on average; choose delta well below one over the number of rows",
            DproofWarning,
            stacklevel=3,
        )


def write_elsewhere(source: Source, law: RowLaw, uri: str, payment: Payment) -> Release:
    """Have the engine write the release to a file system of its own: the rows, then the rest, the certificate last."""
    if source.store is None:
        raise FileError(f"only Spark writes to {uri.partition(':')[0]}://: give the name of a folder on a disk")
    draw, types, deal = partial(drawn_rows, law), partial(drawn_types, law), law.plan.order == "shuffle"
    prepared = prepare(law)
    rehearse(law)
    payment.pay(law)
    payment.settle(None)  # from now on there are rows that others may see
    try:
        with source.store(uri, law.plan.sources, draw, types, deal) as (rows, files, put), TemporaryDirectory() as here:
            certificate = finish(Path(here), prepared, rows, files, current().private)
            for name in (PLAN, REPORT, CERTIFICATE):
                put(Path(here) / name)
    except BaseException as error:
        error.add_note(f"a part of the release may have been seen in {uri}, so what was paid for it is spent")
        raise
    return LocalRelease(prepared[0], certificate, uri)
