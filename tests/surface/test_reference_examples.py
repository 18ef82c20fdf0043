"""Every public name is used in an example of the reference; that the examples run is kept by tests/test_docs.py."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import dproof as dp

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")


def used(page: str) -> set[str]:
    """The names after `dp.` in the code of a page, comments apart."""
    blocks = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    examples = [example.source for block in blocks for example in doctest.DocTestParser().get_examples(block)]
    nodes = (node for source in examples for node in ast.walk(ast.parse(source)))
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dp"
    }


def test_every_public_name_is_used_in_an_example_of_the_reference() -> None:
    assert used(PAGE) - set(dp._MODULES) == set(dp.__all__) - {"__version__"}


def test_a_comment_is_no_example() -> None:
    assert used("```python\n>>> dp.one(1)  # dp.two\n\n```\n") == {"one"}
