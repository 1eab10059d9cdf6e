"""The example of the page about object stores runs on a server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.s3_server import KEY, SECRET, running_s3

PAGE = Path(__file__).parents[2] / "docs" / "object-stores.md"


def test_the_example_opens_a_warehouse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_KEY", KEY)
    monkeypatch.setenv("LAKE_SECRET", SECRET)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    with running_s3() as server:
        server.make_bucket("lake")
        exec(block.replace("https://minio.example.com:9000", server.endpoint), names)  # noqa: S102
        catalog = names["catalog"]
        catalog.create_database("shop")
        assert catalog.list_databases() == ("shop",)
