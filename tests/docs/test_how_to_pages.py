"""The code blocks of the tutorial and how-to pages run, and print the text blocks that follow them."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["first-table", "schema-evolution", "time-travel", "changes", "migration", "backup", "catalogs"]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_print_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = load_catalog({"warehouse": "warehouse"})
    catalog.create_database("shop")
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), ("state", pa.string()), ("amount", pa.int32())])
    orders = catalog.create_table("shop.orders", Schema.from_arrow(columns, ["id"], options={"bucket": "1"}))
    for ids, states in (([1, 2], ["new", "new"]), ([3], ["paid"])):
        orders.append(pa.table({"id": ids, "state": states, "amount": [10 * i for i in ids]}, schema=columns))
    names = {"catalog": catalog, "orders": orders, "load_catalog": load_catalog}
    blocks = re.findall(r"```(python|text)\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL)
    printed = ""
    for kind, block in blocks:
        if kind == "python":
            exec(block, names)  # noqa: S102
            printed += capsys.readouterr().out
        else:
            assert printed == block
            printed = ""
    assert printed == ""
    assert {kind for kind, _ in blocks} == {"python", "text"}


@pytest.mark.parametrize("page", [*PAGES, "tuning", "troubleshooting", "compatibility"])
def test_the_links_and_the_errors_of_a_page_exist(page: str) -> None:
    from table_format import errors

    text = (DOCS / f"{page}.md").read_text()
    assert all((DOCS / link).exists() for link in re.findall(r"\]\(([\w/.-]+\.md)", text))
    for name in re.findall(r"^\| `(\w+)[`:]", text, re.MULTILINE) if page == "troubleshooting" else []:
        assert hasattr(errors, name), name
