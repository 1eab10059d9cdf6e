"""Keys of bytes are refused where compactions look up keys, because the real Paimon 1.4 cannot compare them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.model.types import BinaryType, DataField, DataType, IntType, VarBinaryType
from table_format.options.check import check_alterable, check_creatable

LOOKUPS = {
    "changelog-producer": "lookup",
    "deletion-vectors.enabled": "true",
    "force-lookup": "true",
    "merge-engine": "first-row",
}


def table(key: DataType, options: dict[str, str], *, partitions: tuple[str, ...] = ()) -> TableSchema:
    fields = (DataField(0, "k", key), DataField(1, "pt", IntType(nullable=False)), DataField(2, "v", IntType()))
    return TableSchema(0, fields, 2, partitions, ("k", "pt"), {"bucket": "1", **options})


@pytest.mark.parametrize("key", [BinaryType(3, nullable=False), VarBinaryType(nullable=False)], ids=str)
@pytest.mark.parametrize("option", LOOKUPS)
def test_a_lookup_of_bytes_is_refused(key: DataType, option: str) -> None:
    given = {option: LOOKUPS[option]}
    message = f"'{option}': '{LOOKUPS[option]}' looks up keys .* column 'k' of the primary key is {key}".replace(
        "(", r"\("
    ).replace(")", r"\)")
    with pytest.raises(InvalidOption, match=message):
        check_creatable(table(key, given))
    if option != "force-lookup":
        with pytest.raises(InvalidOption, match=message):
            check_alterable(table(key, {}), table(key, given), has_snapshots=False)
    check_creatable(table(IntType(nullable=False), given))


def test_bytes_are_keys_where_nothing_is_looked_up() -> None:
    check_creatable(table(VarBinaryType(nullable=False), {"changelog-producer": "full-compaction"}))
    options = {"changelog-producer": "lookup", "partition.legacy-name": "false"}
    check_creatable(table(VarBinaryType(nullable=False), options, partitions=("k",)))


def test_what_was_made_before_can_be_altered() -> None:
    made = table(VarBinaryType(nullable=False), {"changelog-producer": "lookup"})
    more = replace(made, fields=(*made.fields, DataField(3, "w", IntType())), highest_field_id=3)
    check_alterable(made, more)
    text = table(IntType(nullable=False), {"changelog-producer": "lookup"})
    with pytest.raises(InvalidOption, match="looks up keys"):
        check_alterable(text, made)


def test_the_splits_that_a_bootstrap_reads_in_parallel_are_limited() -> None:
    key = "cross-partition-upsert.bootstrap-parallelism"
    fields = (DataField(0, "k", IntType(nullable=False)), DataField(1, "pt", IntType()))
    moving = TableSchema(0, fields, 1, ("pt",), ("k",), {"bucket": "-1", key: "1024"})
    check_creatable(moving)
    with pytest.raises(UnsupportedFeature, match="this version supports 1 to 1024"):
        check_creatable(TableSchema(0, fields, 1, ("pt",), ("k",), {"bucket": "-1", key: "1025"}))
