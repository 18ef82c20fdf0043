"""The commands whose output is held fixed, and the files that they read."""

from __future__ import annotations

from pathlib import Path

COLUMNS = """
[columns.sex]
space = "categories"
values = ["f", "m"]
[columns.town]
space = "categories"
values = ["Bergen", "Lund", "Turku", "Aarhus", "Tartu"]
[columns.pay]
space = "interval"
low = 0
high = 5000
step = 10
{bins}
[columns.likes]
space = "subsets"
values = ["chess", "music", "skiing"]
separator = ";"
[columns.since]
space = "date"
low = 2020-01-01
high = 2023-12-31
[columns.region]
public = true
[columns.name]
drop = true
"""
BINS = "bins = [0, 1000, 2000, 3000, 5000]"
CENTRAL = '[privacy]\nmodel = "central"\nepsilon = "{}"\ndelta = "{}"\nneighbours = "{}"\n[release]\n{}\n'
PUBLIC = "[columns.region]\npublic = true\n"
TABLED = COLUMNS.format(bins=BINS).replace(PUBLIC, "[columns.region]\ndrop = true\n")
PLANS = {
    "local": '[privacy]\nepsilon = "4"\n' + COLUMNS.format(bins=""),
    "sampled": '[privacy]\nepsilon = "2"\nspread = "sample"\n'
    + COLUMNS.format(bins="").replace(PUBLIC, "[columns.region]\ndrop = true\n"),
    "central": CENTRAL.format(1, "1e-6", "change-one", "sums = true") + TABLED,
    "pure": CENTRAL.format(2, 0, "add-remove", "tables = 1\nsums = true") + TABLED,
    "rows": CENTRAL.format(3, "1e-6", "add-remove", "rows = true") + TABLED,
    "questions": '[privacy]\nmodel = "central"\nepsilon = "1"\ndelta = "1e-6"\n'
    + TABLED.partition("[columns.likes]")[0]
    + "".join(f"[columns.{name}]\ndrop = true\n" for name in ("likes", "since", "region", "name"))
    + '[[questions]]\nsql = "SELECT town, avg(pay) FROM release GROUP BY town"\n'
    + "[[questions]]\nsql = \"SELECT count(*) FROM release WHERE sex = 'f'\"\nweight = 2\n",
    "asking": '[privacy]\nepsilon = "3"\ndelta = "1e-6"\nneighbours = "add-remove"\n' + COLUMNS.format(bins=""),
    "curves": '[privacy]\nepsilon = "2"\n[columns.load]\nspace = "curves"\ncolumns = ["h0", "h1", "h2", "h3"]\n'
    "low = 0\nhigh = 4\n",
    "wrong": '[privacy]\nepsilon = "-1"\n' + COLUMNS.format(bins=""),
}
ASKED = {
    "counts": "SELECT town, count(*) AS n FROM {} GROUP BY town",
    "where": "SELECT count(*) AS n FROM {} WHERE sex = 'f' AND pay < 2000",
    "means": "SELECT sex, avg(pay) AS mean, sum(pay) AS total FROM {} GROUP BY sex",
    "ratio": "SELECT count(*) FILTER (WHERE sex = 'f') / count(*) AS share FROM {}",
    "items": "SELECT count(*) FILTER (WHERE list_contains(likes, 'music')) AS music FROM {}",
    "median": "SELECT median(pay) AS m FROM {}",
    "deviation": "SELECT stddev(pay) AS s FROM {}",
    "dates": "SELECT count(*) AS n FROM {} WHERE since >= DATE '2022-01-01'",
    "top": "SELECT town, count(*) AS n FROM {} GROUP BY town ORDER BY n DESC LIMIT 2",
}
MATRIX = "a,b,c\n6/10,2/10,2/10\n2/10,6/10,2/10\n2/10,2/10,6/10\n"


def write_files(folder: Path) -> None:
    """Tables, plans and a law, the same in every run."""
    towns, likes = ["Bergen", "Lund", "Turku", "Aarhus", "Tartu"], ["chess", "music", "skiing"]
    lines = ["sex,town,pay,likes,since,region,name"]
    for n in range(1200):
        items = ";".join(item for k, item in enumerate(likes) if (n * n + n // 7) >> k & 1)
        day = f"20{20 + n % 4}-{1 + n % 12:02d}-{1 + n % 28:02d}"
        lines.append(
            f"{'fm'[n % 3 > 0]},{towns[n * n % 5]},{n * 37 % 5000 // 10 * 10},{items},{day},{'NS'[n % 2]},p{n}"
        )
    (folder / "people.csv").write_text("\n".join(lines) + "\n", "utf-8")
    curves = (f"{n % 4},{n % 3},{(n + 1) % 4},{n % 5 % 4}" for n in range(200))
    (folder / "curves.csv").write_text("\n".join(["h0,h1,h2,h3", *curves]) + "\n", "utf-8")
    (folder / "law.csv").write_text(MATRIX, "utf-8")
    (folder / "space.toml").write_text('space = "interval"\nlow = 0\nhigh = 4\nstep = 1\n', "utf-8")
    for name, text in PLANS.items():
        (folder / f"{name}.toml").write_text(text, "utf-8")


def _commands() -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for name in ("local", "sampled", "central", "pure", "rows", "questions"):
        made[f"plan {name}"] = ["plan", f"{name}.toml", "--rows", "1200", "--json"]
        made[f"sanitise {name}"] = ["sanitise", "people.csv", "--plan", f"{name}.toml", "--out", f"r-{name}", "--json"]
        made[f"sanitise {name}"] += ["--no-ledger"]  # the same table, again and again
        made[f"verify {name}"] = ["verify", f"r-{name}", "--json"]
    for name in ("local", "central"):
        made |= {f"query {name} {k}": ["query", f"r-{name}", q.format("release"), "--json"] for k, q in ASKED.items()}
    for name in ("sampled", "pure", "rows"):
        for k in ("counts", "means", "median"):
            made[f"query {name} {k}"] = ["query", f"r-{name}", ASKED[k].format("release"), "--json"]
    asking = ["--plan", "asking.toml", "--ledger", "ledger.db", "--epsilon", "0.2", "--json"]
    made |= {f"ask {k}": ["ask", "people.csv", q.format("data"), *asking] for k, q in ASKED.items()}
    made["ask again"] = ["ask", "people.csv", ASKED["counts"].format("data"), *asking]
    made["preview"] = ["ask", "people.csv", ASKED["means"].format("data"), *asking, "--preview"]
    made["budget"] = ["budget", "ledger.db", "--json"]
    made["sanitise curves"] = ["sanitise", "curves.csv", "--plan", "curves.toml", "--out", "r-curves", "--json"]
    made["verify curves"] = ["verify", "r-curves", "--json"]
    made["query curves"] = ["query", "r-curves", "SELECT avg(load) AS mean FROM release", "--json"]
    made["certify"] = ["certify", "law.csv", "--epsilon", "1.2", "--json"]
    made["not private"] = ["certify", "law.csv", "--epsilon", "0.5", "--json"]
    made["design"] = ["design", "--space", "space.toml", "--epsilon", "1", "--json"]
    made["compose"] = ["compose", "100x0.1", "--delta", "1e-5", "--json"]
    made["explain"] = ["explain", "--epsilon", "1", "--delta", "1e-6", "--json"]
    made["wrong plan"] = ["plan", "wrong.toml", "--json"]
    made["no such column"] = ["query", "r-local", "SELECT avg(age) FROM release", "--json"]
    made["too much"] = ["ask", "people.csv", ASKED["means"].format("data"), *asking[:4], "--epsilon", "30", "--json"]
    return made


COMMANDS = _commands()
