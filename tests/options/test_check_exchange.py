"""Tables refuse a 'spark.write.exchange' that no write to them can use: at CREATE, at ALTER, and for one call."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format import RemoveOption, SetOption
from table_format.errors import UnsupportedFeature
from tests.support.tables import memory_warehouse

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("dt", pa.string(), nullable=False)])
NONE = {"spark.write.exchange": "none"}
KEYED = {"primary_keys": ["id"]}
WRITE_ONLY = {"bucket": "2", "write-only": "true"}
REFUSED = [
    pytest.param(KEYED, {"bucket": "2"}, NONE, "is not 'write-only'", id="compacted by its writers"),
    pytest.param(
        KEYED, {**WRITE_ONLY, "deletion-vectors.enabled": "true"}, NONE, "has deletion vectors", id="deletion vectors"
    ),
    pytest.param({}, {"bucket": "2", "bucket-key": "id"}, NONE, "has no primary key", id="append table"),
    *(
        pytest.param(
            {**KEYED, "partition_keys": keys},
            {"bucket": "-1"},
            {"spark.write.exchange": way},
            "assign",
            id=f"{mode} {way}",
        )
        for mode, keys in (("dynamic", []), ("cross-partition", ["dt"]))
        for way in ("none", "storage")
    ),
]


@pytest.mark.parametrize(("keys", "options", "exchange", "reason"), REFUSED)
def test_an_exchange_that_the_table_does_not_support_is_refused(
    keys: dict[str, list[str]], options: dict[str, str], exchange: dict[str, str], reason: str
) -> None:
    warehouse = memory_warehouse()
    with pytest.raises(UnsupportedFeature, match=reason):
        warehouse.table("created", COLUMNS, options={**options, **exchange}, **keys)
    table = warehouse.table("t", COLUMNS, options=options, **keys)
    with pytest.raises(UnsupportedFeature, match=reason):
        table.copy(exchange)
    with pytest.raises(UnsupportedFeature, match=reason):
        warehouse.catalog.alter_table(str(table.identifier), [SetOption(*item) for item in exchange.items()])


def test_an_option_that_the_exchange_of_the_table_needs_stays() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table("t", COLUMNS, primary_keys=["id"], options={**WRITE_ONLY, **NONE})
    name = str(table.identifier)
    with pytest.raises(UnsupportedFeature, match="is not 'write-only'"):
        warehouse.catalog.alter_table(name, [RemoveOption("write-only")])
    warehouse.catalog.alter_table(name, [RemoveOption("write-only"), RemoveOption("spark.write.exchange")])
    assert table.current().schema.options == {"bucket": "2"}
