"""What earlier trials showed, kept in a file, so that a second run tries only what is new."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from tests.mutants.concerned_tests import concerned
from tests.mutants.sampling import Mutant
from tests.mutants.trial import Outcome


class Record:
    """Outcomes of mutants, and the seconds that each test takes."""

    def __init__(self, file: Path, root: Path) -> None:
        self.file, self.root = file, root
        known = json.loads(file.read_text("utf-8")) if file.exists() else {"outcomes": {}, "seconds": {}}
        self.outcomes: dict[str, list[str]] = known["outcomes"]  # module, verdict, test, hash of the tests
        self.seconds: dict[str, float] = known["seconds"]

    def outcome(self, mutant: Mutant) -> Outcome | None:
        """The outcome, unless the mutant is new or the tests on which it rests have changed."""
        if (entry := self.outcomes.get(_key(mutant))) is None:
            return None
        _, verdict, test, tests = entry
        outcome = Outcome(verdict, test)
        return outcome if tests == self._tests(mutant, outcome) else None

    def killers(self, module: str) -> Counter[str]:
        """How many mutants of the module each test killed."""
        return Counter(test for known, _, test, _ in self.outcomes.values() if known == module and test)

    def add(self, mutant: Mutant, outcome: Outcome, seconds: Mapping[str, float]) -> None:
        self.seconds.update(seconds)
        self.outcomes[_key(mutant)] = [mutant.module, outcome.verdict, outcome.test, self._tests(mutant, outcome)]
        self.file.write_text(json.dumps({"outcomes": self.outcomes, "seconds": self.seconds}, indent=1), "utf-8")

    def _tests(self, mutant: Mutant, outcome: Outcome) -> str:
        """A hash of the tests on which an outcome rests: the file of the one that failed, or all that concern it."""
        paths = [outcome.test.partition("::")[0]] if outcome.test else concerned(mutant.module, self.root)
        texts = [path.read_bytes() for name in paths if (path := self.root / name).is_file()]
        return sha256(b"\n".join(texts)).hexdigest()


def _key(mutant: Mutant) -> str:
    return sha256(f"{mutant.module}\n{mutant.after}".encode()).hexdigest()
