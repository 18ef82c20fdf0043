"""What it takes to add something to dproof itself: each addition is made in a copy of the source, by the files that the
table of docs/extending.md lists and by no other, and used from there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
GUIDE = (TOP / "docs" / "extending.md").read_text("utf-8")
BEGIN = """
import numpy as np
import pyarrow as pa
import dproof as dp

hours = pa.table({"woke": ["06:40", "07:15", "07:59", "23:10"] * 500, "age": [20 + n % 50 for n in range(2000)]})
PRIVACY = {"local": {"epsilon": 8}, "central": {"model": "central", "epsilon": 8}}
"""


class House:
    """A copy of the source, and the files of it that were written."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.written = folder, set[str]()
        shutil.copytree(TOP / "src" / "dproof", folder / "dproof", ignore=shutil.ignore_patterns("__pycache__"))

    def add(self, file: str, text: str) -> None:
        """Write a new file."""
        assert not (self.folder / "dproof" / file).exists()
        (self.folder / "dproof" / file).write_text(text, "utf-8")
        self.written.add(file)

    def insert(self, file: str, line: str, text: str, *, before: bool = False) -> None:
        """Put a text after the one place that has this line, or before it."""
        path = self.folder / "dproof" / file
        known = path.read_text("utf-8")
        assert known.count(line) == 1, (file, line)
        path.write_text(known.replace(line, text + line if before else line + text), "utf-8")
        self.written.add(file)

    def run(self, *words: str) -> str:
        """What Python prints with this source: a script after -c, or a module after -m."""
        command = [sys.executable, *words]
        environment = {"PYTHONPATH": f"{self.folder}:{TOP}", "COLUMNS": "100"}
        ran = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd=self.folder, timeout=300
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def script(self, text: str) -> str:
        return self.run("-c", BEGIN + text)

    def verified_alone(self, release: str) -> None:
        """Verify a release by the stand-alone program, as a process of its own."""
        program = self.folder / "dproof" / "certification" / "verify_certificate.py"
        self.run(str(program), str(self.folder / release / "certificate.json"))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def block(start: str, kind: str = "python") -> str:
    """The block of code in docs/extending.md that has a line which starts so."""
    blocks = re.findall(rf"^```{kind}\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)
    (found,) = [text for text in blocks if re.search(f"^{re.escape(start)}", text, flags=re.MULTILINE)]
    return str(found)


def listed(what: str) -> set[str]:
    """The files that the table lists for an addition."""
    (row,) = re.findall(rf"^\| {what} \|.*\n", GUIDE, flags=re.MULTILINE)
    count, files = row.split("|")[2:4]
    found = set(re.findall(r"`([\w/]+\.(?:py|html))`", files))
    assert int(re.findall(r"\d+", count)[0]) == len(found), row
    return found | {f"certification/{name}.py" for name in re.findall(r"verify_\w+", count)}


def test_a_space(house: House) -> None:
    house.add("spaces/clock.py", block("class Clock").replace('dp.add_space("clock", Clock)\n', ""))
    codec = """
from dproof.columns.codec import Codec, Key


class ClockCodec(Codec):
    kind = "clock"
    keys = (Key("hours", "whole number", "The hours on its face.", "hours = 24", 24), *Codec.keys)
"""
    house.add("columns/clock.py", codec)
    imports = "from dproof.columns.clock import ClockCodec\nfrom dproof.spaces.clock import Clock\n"
    house.insert("columns/__init__.py", "from dproof.spaces.space import Space\n", imports)
    house.insert("columns/__init__.py", "    Space: Codec,\n", "    Clock: ClockCodec,\n")
    verifier = "    if space == 'clock':\n        return column.get('hours', 24) + absent\n"
    known = '    require(space == "categories", "the plan has a space that is not known")\n'
    house.insert("certification/verify_certificate.py", known, verifier, before=True)
    told = house.script("""
columns = {"woke": {"space": "clock", "missing": "category"}, "age": {"drop": True}}
for model, privacy in PRIVACY.items():
    plan = dp.Plan.of({"privacy": privacy, "columns": columns})
    dp.sanitise(hours, plan, model)
    release = dp.verify(model)
    cell = release.query("SELECT count(*) AS n FROM release WHERE woke = '07:00'").rows[0]["n"]
    assert cell.low <= 1000 <= cell.high, cell
asked = dp.Curator(hours, plan, ledger="budget.db").ask("SELECT woke, count(*) AS n FROM data GROUP BY woke", epsilon=2)
assert len(asked.rows) == 25
hours.to_pandas().to_csv("hours.csv", index=False)
print([key.name for key in dp.plan_keys("clock")])
""")
    assert told == "['hours', 'outside', 'missing']\n"
    house.verified_alone("local")
    assert "[columns.woke]" in house.run("-m", "dproof", "init", "hours.csv")
    assert house.written == listed("a space")


def test_a_law(house: House) -> None:
    law, _, mechanism = block("class KeepOrAny").partition("LAWS[KeepOrAny.kind] = KeepOrAny.from_json")
    house.add("laws/keep_or_any.py", f"from dataclasses import dataclass\n\nimport numpy as np\n{law}")
    imported = "from dproof.laws.keep_or_any import KeepOrAny\n"
    house.insert("laws/__init__.py", "from dproof.laws.matrix import Matrix, RoundedLaw, RowByRow\n", imported)
    house.insert("laws/__init__.py", "_FINITE = (", "KeepOrAny, ")
    function = mechanism.partition("\n")[2].partition("dp.add_mechanism")[0].replace("dp.Mechanism", "Mechanism")
    imported += "from dproof.exact import exp_below\n"
    names = "# The names that a plan may give"
    house.insert("local/mechanisms.py", names, f"{imported}{function}", before=True)
    house.insert("local/mechanisms.py", '    "categories": {', '"keep_or_any": keep_or_any, ')
    verifier = "certification/verify_certificate.py"
    house.insert(
        verifier, "LAWS: dict[str, Shape] = {\n", '    "keep-or-any": {"size": whole(1, SIZE), "keep": WEIGHT},\n'
    )
    worst = """\
def keep_or_any(law, odds):
    keep, rest, total = 1 + law["keep"], law["size"] - 2, law["size"] + law["keep"]
    yield 0, 1, [keep, 1, rest], [1, keep, rest], total


"""
    pairs = "PAIRWISE: dict[str, Callable[[dict[str, Any], Fraction], Iterator[Pair]]] = {\n"
    house.insert(verifier, pairs, worst, before=True)
    house.insert(verifier, pairs, '    "keep-or-any": keep_or_any,\n')
    told = house.script("""
from dproof.testing import check_mechanism
towns = pa.table({"town": ["Bonn", "Trier"] * 1000})
column = {"space": "categories", "values": ["Bonn", "Trier", "Ulm"], "mechanism": "keep_or_any"}
dp.sanitise(towns, {"privacy": PRIVACY["local"], "columns": {"town": column}}, "kept")
release = dp.verify("kept")
check_mechanism(release.law.groups[0].mechanism)
cell = release.query("SELECT count(*) AS n FROM release WHERE town = 'Bonn'").rows[0]["n"]
assert cell.low <= 1000 <= cell.high, cell
print(release.law.groups[0].mechanism.family)
""")
    assert told == "KeepOrAny(size=3, keep=2979)\n"
    house.verified_alone("kept")
    assert house.written == listed("a law")


AGES = """
columns = {"age": {"space": "interval", "low": 0, "high": 110, "step": 1, "missing": 40}, "woke": {"drop": True}}
for model, privacy in PRIVACY.items():
    release = dp.sanitise(hours, {"privacy": privacy, "columns": columns}, model)
    cell = release.query("SELECT lower_quartile(age) AS q FROM release").rows[0]["q"]
    assert cell.low <= 32 <= cell.high, (model, cell)
curator = dp.Curator(hours, {"privacy": privacy, "columns": columns}, ledger="budget.db")
assert 30 <= curator.ask("SELECT lower_quartile(age) AS q FROM data", epsilon=2).rows[0]["q"].estimate <= 34
"""


def test_an_aggregate_that_is_no_sum(house: House) -> None:
    entry = block('AGGREGATES["lower_quartile"]').partition('AGGREGATES["lower_quartile"] = ')[2].partition("\n)\n")[0]
    text = f'    "lower_quartile": {entry}\n    ),\n'
    house.insert("questions/aggregates.py", "AGGREGATES: dict[str, Definition] = {\n", text)
    house.script(AGES)
    assert house.written == listed("an aggregate, a sum or not")


def test_a_third_kind_of_choice(house: House) -> None:
    """The value that the fewest rows have: every model answers it, and a calculation with it is refused."""
    kind = '@dataclass(frozen=True, slots=True)\nclass Rarest:\n    """The value that fewest rows have."""\n\n\n'
    definition = "@dataclass(frozen=True, slots=True)\nclass Definition:\n"
    house.insert("questions/aggregates.py", definition, kind, before=True)
    house.insert("questions/aggregates.py", "    chosen: Rank | Frequent", " | Rarest")
    entry = '    "rarest": Definition({"rarest": None}, accepts="values", chosen=Rarest()),\n'
    house.insert("questions/aggregates.py", "AGGREGATES: dict[str, Definition] = {\n", entry)
    house.insert("local/ranks.py", "from dproof.questions.aggregates import Frequent", ", Rarest")
    estimated = """
        if isinstance(definition.chosen, Rarest):
            found = self._nothing()
            for places, counts in self._counts(aggregate, where, False, self.options):
                for (group, value), rows in zip(places, counts.best[:, 0].tolist(), strict=True):
                    found[group].append((rows, value))
            return [Cell(min(rows)[1]) for rows in found.values()]
"""
    house.insert("local/ranks.py", "            return self._most_frequent(aggregate, where)\n", estimated[1:])
    house.insert("central/answer.py", "from dproof.questions.aggregates import Frequent, Rank", ", Rarest")
    told = """
        if isinstance(definition.chosen, Rarest):
            labels, _, by_value = self._by_value(aggregate)
            return [Cell(labels[row.argmin()]) for row in by_value(lambda one, size: _totals(estimates, [one], size))]
"""
    estimates = "        estimates, by_method = self._counts_for(aggregate)\n"
    house.insert("central/answer.py", estimates, told[1:])
    house.insert("curator/select.py", "from dproof.questions.aggregates import Frequent", ", Rarest")
    rate = """
    if isinstance(chosen, Rarest):  # a row that comes or goes raises or lowers the score of one value
        return Choice(aggregate, "permute-and-flip", epsilon / (4 if changed and several else 2), candidates)
"""
    house.insert("curator/select.py", "    chosen = aggregate.definition.chosen\n", rate[1:])
    drawn = """
    if isinstance(chosen, Rarest):
        codes, misses = zip(*space.tallies(histogram).items(), strict=True)
        return codes[permute_and_flip([1] * len(codes), misses, choice.rate, coins)]
"""
    house.insert("curator/select.py", "    chosen = choice.aggregate.definition.chosen\n", drawn[1:])
    text = "if isinstance(chosen, Rarest):\n        text = f\"no other is in {several(most, 'row')} fewer\"\n    el"
    house.insert("curator/select.py", "if isinstance(chosen, Frequent) and chosen.several:", text, before=True)
    told = house.script("""
towns = pa.table({"town": ["Bonn"] * 900 + ["Trier"] * 700 + ["Ulm"] * 100})
columns = {"town": {"space": "categories", "values": ["Bonn", "Ulm", "Trier"]}}
askers = [dp.sanitise(towns, {"privacy": privacy, "columns": columns}, model) for model, privacy in PRIVACY.items()]
curator = dp.Curator(towns, {"privacy": PRIVACY["local"], "columns": columns}, ledger="budget.db")
sources = {"release": [release.query for release in askers], "data": [lambda sql: curator.ask(sql, epsilon=2)]}
for table, asks in sources.items():
    for ask in asks:
        print(ask(f"SELECT rarest(town) AS t FROM {table}").rows[0]["t"].estimate)
        for asked in ("round(rarest(town))", "rarest(town) + count(*)"):
            try:
                ask(f"SELECT {asked} AS t FROM {table}")
            except dp.QuestionError as refused:
                continue
            raise AssertionError((table, asked))
""")
    assert told == "Ulm\n" * 3
    assert house.written == listed("a third kind of choice, beside `Rank` and `Frequent`")


def test_an_output_format(house: House) -> None:
    function = block("def latex").partition("def latex")[2].partition("FORMATS[")[0]
    house.insert("questions/answer.py", "FORMATS = {\n", f"def latex{function}", before=True)
    house.insert("questions/answer.py", "FORMATS = {\n", '    ".tex": Format(latex, "application/x-tex"),\n')
    house.script("""
columns = {"age": {"space": "interval", "low": 0, "high": 110, "missing": 40}, "woke": {"drop": True}}
dp.sanitise(hours, {"privacy": PRIVACY["local"], "columns": columns}, "made")
""")
    house.run("-m", "dproof", "query", "made", "SELECT count(*) AS n FROM release", "--out", "answer.tex")
    assert (house.folder / "answer.tex").read_text("utf-8") == "n \\\\\n2,000 \\\\\n"
    assert ".tex" in house.run("-m", "dproof", "query", "--help").partition("--out")[2].partition("--level")[0]
    assert house.written == listed("an output format")


def test_a_page_of_the_server(house: House) -> None:
    house.add("serve/pages/overview.py", block("async def overview"))
    house.add("serve/templates/overview.html", block("{% extends", "html"))
    told = house.script("""
from pathlib import Path
from tests.serve.server import make_folder, send, serving

Path("served").mkdir()
with serving(make_folder(Path("served"))) as made:
    print(send(made, "GET", "/overview", token=made.ann).raw.decode())
    print(send(made, "GET", "/", token=made.ann).raw.decode())
    print(send(made, "GET", "/overview").headers["location"])
""")
    shown, home = told.split("</html>")[:2]
    assert '<th scope="row">people</th><td>sex, age</td>' in shown and "What you may ask" in shown
    assert all('<a href="/overview">Overview</a>' in page for page in (shown, home))
    assert told.rstrip().endswith("/sign-in")
    assert house.written == listed("a page of the server")


def test_a_command(house: House) -> None:
    made = """
from dproof.cli.command import command, json_option
from dproof.cli.output import emit


@command
@json_option
def greet(as_json: bool) -> None:
    \"\"\"Say hello.\"\"\"
    emit({"hello": "world"}, as_json, lambda: ["Hello."])
"""
    house.add("cli/greet.py", made)
    house.insert("cli/app.py", "COMMANDS = {\n", '    "greet": "Say hello.",\n')
    assert house.run("-m", "dproof", "greet") == "Hello.\n"
    assert "  greet     Say hello.\n" in house.run("-m", "dproof", "--help")
    assert house.written == listed("a command")


def test_an_engine(house: House) -> None:
    made = """
from dproof.tables.source import Source


def open_ledger(ledger):
    return Source(tuple(ledger.columns), lambda columns: [ledger.batch(columns)], ledger.rows)
"""
    house.add("tables/ledgers.py", made)
    house.insert("tables/engines.py", "ENGINES: dict", "from dproof.tables.ledgers import open_ledger\n", before=True)
    house.insert("tables/engines.py", '    "pyarrow": open_arrow,\n', '    "ledgers": open_ledger,\n')
    (house.folder / "ledgers.py").write_text("""
import pyarrow


class Ledger:
    columns, rows = ("sex",), 1000

    def batch(self, columns):
        return pyarrow.record_batch({"sex": ["f", "m"] * 500}).select(columns)
""")
    told = house.script("""
from ledgers import Ledger

columns = {"sex": {"space": "categories", "values": ["f", "m"]}}
print(dp.sanitise(Ledger(), {"privacy": PRIVACY["local"], "columns": columns}).rows)
""")
    assert told == "1000\n" and house.written == listed("an engine")


def test_a_mechanism_of_a_law_that_is_there(house: House) -> None:
    made = """
from fractions import Fraction

from dproof.mechanisms import finite


def half_of_it(space, privacy):
    \"\"\"Randomised response with half of ε. Why it is private: what keeps half of a promise keeps it.\"\"\"
    return finite.randomised_response(space, privacy.part(Fraction(1, 2)))
"""
    house.add("mechanisms/half.py", made)
    names = "# The names that a plan may give"
    house.insert("local/mechanisms.py", names, "from dproof.mechanisms.half import half_of_it\n\n\n", before=True)
    house.insert("local/mechanisms.py", '    "categories": {', '"half_of_it": half_of_it, ')
    house.script("""
columns = {"sex": {"space": "categories", "values": ["f", "m"], "mechanism": "half_of_it"}}
people = pa.table({"sex": ["f", "m"] * 1000})
dp.sanitise(people, {"privacy": PRIVACY["local"], "columns": columns}, "halved")
assert 3.9 < dp.verify("halved").law.parts[0].epsilon <= 4
""")
    house.verified_alone("halved")
    assert house.written == listed("a mechanism of a law that is there")
