"""Messages that every surface shows: Python, the command line, SQL, CALL and Dagster."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

KEYWORD_ARGUMENT: Final = re.compile(r"(?<![\w'\"&?/.-])[a-z][a-z_]+=(?=True|False|None|[\[\s,;:.)]|$)")
"""An argument as only Python spells it. SQL has a clause, and the command line an option, of the same name."""


def texts_of_messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts within a module that are not docstrings, nor the representation of an object."""
    for node in ast.iter_child_nodes(tree):
        is_shown = isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__str__")
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_shown or is_docstring:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        yield from texts_of_messages(node)


def test_a_message_names_an_option_by_its_word_and_not_as_an_argument_of_python() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {text}"
        for file in sorted(ROOT.glob("table_format/**/*.py"))
        for line, text in texts_of_messages(ast.parse(file.read_text()))
        if KEYWORD_ARGUMENT.search(text)
    ]
    assert found == []
