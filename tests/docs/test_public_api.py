"""What the page on the public API shows works as it is written there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from tests.architecture.test_public_names import PUBLIC_MODULES
from tests.support.code_blocks import code_blocks, run_block

PAGE = (Path(__file__).parents[2] / "docs" / "public-api.md").read_text()


def test_the_examples_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("shop")
    columns = pa.schema([("id", pa.int64()), ("amount", pa.int64())])
    orders = catalog.create_table("shop.orders", Schema.from_arrow(columns))
    orders.append(pa.table({"id": [1, 2, 3], "amount": [10, 20, 30]}, schema=columns))
    names = {"catalog": catalog}
    for example in code_blocks(PAGE):
        run_block(example, names)
    assert capsys.readouterr().out.splitlines() == ["3 1", "Table", "MetadataTable", "[2]", "()", "4"]


def test_the_page_names_the_public_modules() -> None:
    named = set(re.findall(r"`(table_format[\w.]*)`", PAGE))
    assert named == set(PUBLIC_MODULES)
    for name in named:
        assert importlib.import_module(name).__doc__
