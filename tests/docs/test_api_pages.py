"""The pages of the Python reference list every name that the packages export, and the site lists every document."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

import dagster_paimon
import table_format
import table_format.spark

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("package", [table_format, table_format.spark, dagster_paimon], ids=lambda p: p.__name__)
def test_every_exported_name_has_its_place_on_a_page(package: ModuleType) -> None:
    pages = "\n".join(path.read_text() for path in (DOCS / "api").glob("*.md"))
    listed = re.findall(rf"^::: {re.escape(package.__name__)}\.(\w+)$", pages, re.MULTILINE)
    assert sorted(listed) == sorted(package.__all__)


def test_every_document_is_in_the_navigation_of_the_site() -> None:
    listed = re.findall(r"([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
