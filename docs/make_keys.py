"""Write docs/keys.md from what each space says of its keys in a plan; a test keeps the page as it is here."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent / "keys.md"
_COMMON = """\
# The keys of a column

Made by `python docs/make_keys.py` from what each space says of itself. A column's table in a plan is `[columns.name]`.

Every column has `space`, one of the names below; or `drop = true`, and it is left out; or `public = true`, and it is
released as it is. A column that is sanitised also takes `share`, its weight in the split of ε (1 without it), and
`mechanism`, one of those that its space lists (`"auto"` without it: `dproof plan` says which that is). `question` and
`help` are texts that a survey shows ([`dproof collect`](tutorials/collect.md)); nothing else looks at them.
"""


def text() -> str:
    """The whole page."""
    from dproof.columns.codec import REQUIRED
    from dproof.local.mechanisms import MECHANISMS
    from dproof.plans.reader import SPACES, plan_keys

    parts = [_COMMON]
    for name, space in SPACES.items():
        rows = ["| key | what stands there | without it | |", "| --- | --- | --- | --- |"]
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
