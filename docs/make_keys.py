"""Write docs/keys.md from what each space says of its keys in a plan; a test keeps the page as it is here."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent / "keys.md"
_COMMON = """\
# The keys of a column

Made by `python docs/make_keys.py` from the source. A column's table in a plan is `[columns.name]`.

Every column has one of these: `space`, one of the names below; `drop = true`, which leaves it out; or `public = true`,
which releases it as it is. A sanitised column also takes `share`, its weight in the split of ε (default 1), and
`mechanism`, one of those that its space lists (default `"auto"`: `dproof plan` shows which one). `question` and
`help` are texts for a survey ([`dproof collect`](tutorials/collect.md)).
"""


def text() -> str:
    """The whole page."""
    from dproof.columns.codec import REQUIRED
    from dproof.local.mechanisms import MECHANISMS
    from dproof.plans.reader import SPACES, plan_keys

    parts = [_COMMON]
    for name, space in SPACES.items():
        rows = ["| key | value | default | |", "| --- | --- | --- | --- |"]
        for key in plan_keys(name):
            form = " or ".join(f'`"{way}"`' for way in key.options) or key.form
            usual = "" if key.default in (None, (), "") else f"`{key.default}`"
            usual = "required" if key.default is REQUIRED else usual
            rows.append(f"| `{key.name}` | {form} | {usual} | {key.help} |")
        laws = ", ".join(f'`"{law}"`' for law in MECHANISMS[space.mechanisms])
        parts.append(f"## {name}\n\n" + "\n".join(rows) + f"\n\nMechanisms: {laws}.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
