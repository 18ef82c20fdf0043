"""What earlier trials showed, kept in a file, so that a second run tries only what is new."""

from __future__ import annotations

import ast
import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.mutants.concerned_tests import concerned
from tests.mutants.reaching import name_of
from tests.mutants.sampling import Mutant
from tests.mutants.trial import Hints, Result

NOTHING = '{"outcomes": {}, "seconds": {}, "reached": {}, "files": {}}'


class Record:
    """Outcomes of mutants, how long each test takes, and what it reaches."""

    def __init__(self, file: Path, root: Path) -> None:
        self.file, self.root = file, root
        known = json.loads(file.read_text("utf-8") if file.exists() else NOTHING)
        self.outcomes: dict[str, list[str]] = known["outcomes"]  # module, verdict, test, hash of the tests
        changed = {name for name, text in known["files"].items() if self._hash([name]) != text}
        self.seconds: dict[str, float] = _without(known["seconds"], changed)
        self.reached: dict[str, list[str]] = _without(known["reached"], changed)

    def outcome(self, mutant: Mutant) -> tuple[str, str] | None:
        """The verdict and its test, unless the mutant is new or the tests on which they rest have changed."""
        _, verdict, test, tests = self.outcomes.get(_key(mutant), ("", "", "", ""))
        return (verdict, test) if verdict and tests == self._tests(mutant, test) else None

    def hints(self, mutant: Mutant) -> Hints:
        killers = Counter(test for module, _, test, _ in self.outcomes.values() if module == mutant.module and test)
        function = name_of(mutant.module, mutant.function) if mutant.function else None
        return Hints(function, killers, self.seconds, self.reached)

    def add(self, mutant: Mutant, result: Result) -> None:
        tests = self._tests(mutant, result.test)
        self.outcomes[_key(mutant)] = [mutant.module, result.verdict, result.test, tests]
        self.seconds |= result.seconds
        for test, functions in result.reached.items():
            self.reached[test] = sorted({*self.reached.get(test, ()), *functions})
        self._write()

    def _write(self) -> None:
        files = {name: self._hash([name]) for name in {test.partition("::")[0] for test in self.seconds}}
        known = {"outcomes": self.outcomes, "seconds": self.seconds, "reached": self.reached, "files": files}
        self.file.write_text(json.dumps(known), "utf-8")

    def _tests(self, mutant: Mutant, test: str) -> str:
        """A hash of the tests on which an outcome rests: the one that failed, or all that concern the mutant."""
        name, _, function = test.partition("::")
        if function and (path := self.root / name).is_file():
            return sha256(_alone(path.read_text("utf-8"), function.partition("[")[0]).encode()).hexdigest()
        return self._hash([name] if name else concerned(mutant.module, self.root))

    def _hash(self, names: list[str]) -> str:
        paths = [self.root / name for name in names]
        return sha256(b"\n".join(path.read_bytes() if path.is_file() else b"" for path in paths)).hexdigest()


def _alone(text: str, test: str) -> str:
    """A file as syntax trees without its other tests: what they say does not decide whether this one fails."""
    nodes = ast.parse(text).body
    others = {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
    return "\n".join(ast.dump(node) for node in nodes if getattr(node, "name", "") not in others - {test})


def _key(mutant: Mutant) -> str:
    return f"{mutant.module} {mutant.program}"


def _without(known: dict[str, Any], files: set[str]) -> dict[str, Any]:
    return {test: value for test, value in known.items() if test.partition("::")[0] not in files}
