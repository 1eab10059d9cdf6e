"""The code blocks of the documents, run as their readers run them."""

from __future__ import annotations

import re
from typing import Any


def code_blocks(page: str, language: str = "python") -> list[str]:
    """Return the blocks of a language in the text of a page, in their order."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def run_block(block: str, names: dict[str, Any]) -> None:
    """Run Python code and keep its names.

    ``exec`` alone would give the block the ``from __future__`` imports of this module. Annotations would then be texts,
    which no reader of the page has.
    """
    exec(compile(block, "<code block>", "exec", dont_inherit=True), names)  # noqa: S102 - the documents are ours
