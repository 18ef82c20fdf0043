"""How often 95 % intervals cover the truth: kinds of question × tables × rows × ε.

`python -m tests.statistics.coverage` measures what is not yet in build/coverage and writes docs/coverage.md; it may be
stopped and started again. What was measured with another state of the source does not count.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import astuple, dataclass
from functools import cache
from hashlib import sha256
from math import sqrt
from multiprocessing import get_context
from pathlib import Path

from tests.statistics.coverage_cases import DATA, SECTIONS, Section

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "coverage.md"
TIMES, MORE, BLOCK = 400, 1200, 50
SHOWING = {"cli", "plotting.py", "report", "serve"}  # folders of the source that no answer depends on
LEVEL, LEAST, MOST = 0.95, 0.93, 0.97
_WIDTHS = " Beside each share stand the mean half-width and the root mean square error of the estimate."
Found = Mapping[tuple[str, str], Mapping[str, "Covered"]]  # by section and case, then by question


@dataclass(frozen=True)
class Covered:
    """How many answers there were in all repetitions, how many told something, and how many held the truth.

    `half` is the sum of the half-widths of those that told something, and `square` that of their squared errors.
    """

    asked: int = 0
    told: int = 0
    held: int = 0
    half: float = 0.0
    square: float = 0.0

    @property
    def share(self) -> float:
        return self.held / self.told if self.told else 1.0

    def __add__(self, other: Covered) -> Covered:
        return Covered(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        silent = 1 - self.told / self.asked
        if not self.told:
            return "no information"
        return f"{self.share:.1%}" + (f" ({silent:.0%} no information)" if silent >= 0.005 else "")

    @property
    def width(self) -> str:
        """The mean half-width and the root mean square error."""
        return (
            f"{self}, ± {self.half / self.told:.3g} at {sqrt(self.square / self.told):.3g}" if self.told else str(self)
        )


def present() -> list[Section]:
    """The sections whose data are here."""
    return [section for section in SECTIONS if not section.needs or (DATA / section.needs).exists()]


def measure(section: Section, case: str, seeds: range) -> dict[str, Covered]:
    """Sanitise a table again and again, and ask every question each time."""
    repeat = section.cases[case](section.questions)
    found = dict.fromkeys(section.questions, Covered())
    for seed in seeds:
        for told in repeat(seed):
            found[told.question] += Covered(1, told.held is not None, bool(told.held), told.half, told.error**2)
    return found


@cache
def _state() -> str:
    """A digest of the source that answers depend on, and of the cases."""
    source = ROOT / "src" / "dproof"
    answering = (file for file in sorted(source.rglob("*.py")) if file.relative_to(source).parts[0] not in SHOWING)
    files = [*answering, Path(__file__).with_name("coverage_cases.py")]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _measure_block(where: tuple[int, str, int]) -> None:
    number, case, first = where
    file = _file(where)
    if not file.exists():
        found = measure(SECTIONS[number], case, range(first, first + BLOCK))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({name: astuple(covered) for name, covered in found.items()}), "utf-8")


def _file(where: tuple[int, str, int]) -> Path:
    name = sha256(repr((SECTIONS[where[0]].title, *where[1:])).encode()).hexdigest()[:16]
    return ROOT / "build" / "coverage" / _state() / f"{name}.json"


def measure_all() -> Found:
    """Every case 400 times; those with a figure that is not as promised 1,200 times more, and these count instead.

    Of so many figures some lie outside of 93 to 97 % by chance.
    """
    cases = [(n, case) for n, section in enumerate(SECTIONS) if section in present() for case in section.cases]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        found = _measured(pool, cases, range(0, TIMES, BLOCK))
        again = [(n, case) for n, case in cases if _missed(SECTIONS[n], found[SECTIONS[n].title, case])]
        return {**found, **_measured(pool, again, range(TIMES, TIMES + MORE, BLOCK))}


def _measured(pool: Executor, cases: list[tuple[int, str]], firsts: range) -> Found:
    wanted = [(n, case, first) for n, case in cases for first in firsts]
    list(pool.map(_measure_block, wanted))
    found: dict[tuple[str, str], dict[str, Covered]] = {}
    for where in wanted:
        block = {name: Covered(*counts) for name, counts in json.loads(_file(where).read_text("utf-8")).items()}
        total = found.setdefault((SECTIONS[where[0]].title, where[1]), dict.fromkeys(block, Covered()))
        for name, covered in block.items():
            total[name] += covered
    return found


def _missed(section: Section, row: Mapping[str, Covered]) -> list[str]:
    """The questions of a case whose figures are not as promised."""
    return [
        question
        for question, covered in row.items()
        if covered.share < LEAST or (covered.share > MOST and not section.questions[question].bound)
    ]


def outside(found: Found) -> list[str]:
    """Which figures are not as promised."""
    sections = {section.title: section for section in SECTIONS}
    return [
        f"{title}: {question}, {case}: {row[question]}"
        for (title, case), row in found.items()
        for question in _missed(sections[title], row)
    ]


def _error(times: int) -> float:
    return sqrt(LEVEL * (1 - LEVEL) / times)


def page(found: Found) -> str:
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Found) -> Iterator[str]:
    yield f"""# How often intervals cover

Made by `make test-slow` (or `python -m tests.statistics.coverage`): every table is sanitised {TIMES} times, every
question is asked of each release, and its {LEVEL:.0%} interval either holds the answer of the true table or does not.
{LEVEL:.0%} seen in {TIMES} repetitions has a standard error of {_error(TIMES):.1%}, so some figures lie outside of
{LEAST:.0%} to {MOST:.0%} by chance. A column with such a figure is measured {MORE:,} times more, with a standard error
of {_error(MORE):.1%}, and shows these. Where an answer has several cells, all of them are counted.

ε is that of the whole row. "No information" is what an answer says of itself when the truth could be any possible
value; such answers are not counted in the share.

Questions marked † are conservative, and may cover more often than {LEVEL:.0%}, for one of these reasons:

- the interval holds for every distribution, or for every smooth one
- the answer is a ratio
- few rows carry noise, and the interval is Bernstein's
- noise is wide or few rows are counted, and the interval is moved into what is possible
- the interval is cut to whole numbers, or holds on average over many cells
"""
    for section in SECTIONS:
        yield f"## {section.title}\n"
        yield f"{section.about}{_WIDTHS if section.widths else ''}\n"
        if section not in present():
            yield f"Not measured here: {section.needs} is not at hand.\n"
            continue
        yield "| question | " + " | ".join(section.cases) + " |"
        yield "| --- |" + " ---: |" * len(section.cases)
        for question, asked in section.questions.items():
            covered = [found[section.title, case][question] for case in section.cases]
            shares = (each.width if section.widths else str(each) for each in covered)
            yield f"| {question}{' †' if asked.bound else ''} | " + " | ".join(shares) + " |"
        yield ""
    missed = outside(found)
    reached = "all but these." if missed else "all."
    yield f"Between {LEAST:.0%} and {MOST:.0%} of the answers that tell something, or above with †: {reached}"
    yield from (f"- {line}" for line in missed)


if __name__ == "__main__":
    results = measure_all()
    PAGE.write_text(page(results), "utf-8")
    sys.exit(int(bool(outside(results))))
