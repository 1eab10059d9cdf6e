"""Numbers of levels, and options of levels that a table has not."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidInputError
from table_format.model.schema import TableSchema
from table_format.model.types import BigIntType, DataField
from table_format.options.check import check_alterable, check_creatable
from table_format.options.table_options import TableOptions

TRIGGER = "num-sorted-run.compaction-trigger"


def table(options: dict[str, str]) -> TableSchema:
    fields = (DataField(0, "id", BigIntType(nullable=False)),)
    return TableSchema(0, fields, 0, primary_keys=("id",), options={"bucket": "1", **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num-levels": "2147483647"}, "'num-levels' = '2147483647' .* this version supports 2 to 10000"),
        ({"num-levels": "10001"}, "this version supports 2 to 10000"),
        ({TRIGGER: "2147483647"}, f"'{TRIGGER}' is 2147483647 and would make 2147483648 levels, more than 10000"),
        ({TRIGGER: "10000"}, "give 'num-levels' as well"),
        ({"dynamic-bucket.assigner-parallelism": "2147483647", "bucket": "-1"}, "supports 1 to 32768"),
        ({"file.format.per.level": "6:avro"}, "'file.format.per.level': there is no level 6: the levels are 0 to 5"),
        ({"file.compression.per.level": "0:snappy,-1:snappy"}, "there is no level -1"),
        ({"metadata.stats-mode.per.level": "3:none", "num-levels": "3"}, "there is no level 3: the levels are 0 to 2"),
    ],
)
def test_levels_that_cannot_be_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check_creatable(table(options))
    with pytest.raises(InvalidInputError, match=message):
        check_alterable(table({"bucket": options.get("bucket", "1")}), table(options))


@pytest.mark.parametrize(
    "options",
    [
        {"num-levels": "10000"},
        {TRIGGER: "9999"},
        {TRIGGER: "2147483647", "num-levels": "3"},
        {"num-sorted-run.stop-trigger": "2147483647"},
        {"file.format.per.level": "6:avro", TRIGGER: "6"},
        {"file.format.per.level": "9999:avro", "num-levels": "10000"},
    ],
)
def test_levels_up_to_the_most_are_accepted(options: dict[str, str]) -> None:
    check_creatable(table(options))


def test_a_foreign_table_with_more_levels_can_be_altered() -> None:
    foreign = {"num-levels": "2147483647", "file.format.per.level": "7:avro"}
    check_alterable(table(foreign), table({**foreign, "write-only": "true"}))
    assert TableOptions.parse(foreign).compaction.num_levels == 2_147_483_647
