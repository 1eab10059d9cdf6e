"""The earlier location of ``table_format.java``."""

from __future__ import annotations

import importlib
import sys

import pytest

from table_format.java import find_java


def test_the_earlier_java_module_works_and_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dagster_paimon.resources.java", raising=False)
    with pytest.warns(DeprecationWarning, match="is now table_format.java"):
        earlier = importlib.import_module("dagster_paimon.resources.java")
    assert earlier.find_java is find_java
