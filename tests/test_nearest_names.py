"""Suggestions for misspelt names."""

from __future__ import annotations

import pytest

from table_format.errors import ColumnNotFound
from table_format.nearest_names import nearest
from tests.support.tables import memory_warehouse


def test_case_does_not_count_and_all_spellings_are_suggested() -> None:
    assert nearest("ID", ["value", "id", "Id"]) == ["id", "Id"]
    assert nearest("ORDRES", ["Items", "Orders"]) == ["Orders"]
    assert nearest("x", ["value"]) == []


@pytest.mark.parametrize("scan", [{"columns": ["ID"]}, {"filter": "ID = 1"}, {"order_by": "ID", "limit": 1}])
def test_a_column_in_another_case_is_not_found_and_the_right_one_is_suggested(scan: dict[str, object]) -> None:
    with pytest.raises(ColumnNotFound, match=r"column 'ID' .*did you mean 'id'"):
        memory_warehouse().table().scan(**scan).to_arrow()  # type: ignore[arg-type]
