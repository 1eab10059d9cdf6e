"""Each option of ``format("paimon")`` has an effect, or is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.serializers import CPickleSerializer
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructType

from table_format import Table
from table_format.errors import InvalidInputError, InvalidOption, SnapshotNotFound, UnsupportedFeature
from table_format.model.schema_change import AddColumn
from table_format.model.types import IntType
from table_format.spark.source.data_source import PaimonDataSource
from tests.support.tables import Warehouse, disk_warehouse, keyed

COLUMNS = StructType().add("id", "long", nullable=False).add("dt", "string").add("v", "integer")


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return disk_warehouse(tmp_path / "warehouse")


@pytest.fixture
def table(warehouse: Warehouse) -> Table:
    """Two snapshots; the first has a tag, and one column less."""
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1)]))
    table.create_tag("first")
    warehouse.catalog.alter_table(str(table.identifier), AddColumn("n", IntType()))
    table = table.current()
    table.append(pa.table({"id": [2], "dt": ["a"], "v": pa.array([2], pa.int32()), "n": pa.array([7], pa.int32())}))
    return table


def source(table: Table, **options: str) -> PaimonDataSource:
    given: CaseInsensitiveDict = CaseInsensitiveDict()
    given.update({"path": table.store.paths.root, **options})
    return PaimonDataSource(dict(given))


def read(table: Table, **options: str) -> tuple[list[str], list[int]]:
    """The columns, and the ids of the rows as tasks read them."""
    opened = source(table, **options)
    schema = opened.schema()
    reader = opened.reader(schema)
    parts = reader.partitions()
    pickled = CPickleSerializer()
    unpickled = pickled.loads(pickled.dumps(reader))
    return schema.names, sorted(i for part in parts for batch in unpickled.read(part) for i in batch["id"].to_pylist())


@pytest.mark.parametrize("name", ["versionAsOf", "VERSIONASOF", "versionasof"])
def test_a_version_is_a_tag_or_a_snapshot(table: Table, name: str) -> None:
    assert read(table, **{name: "1"}) == (["id", "dt", "v"], [1])
    assert read(table, **{name: "first"}) == (["id", "dt", "v"], [1])
    assert read(table, **{name: "2"}) == (["id", "dt", "v", "n"], [1, 2])
    with pytest.raises(SnapshotNotFound):
        read(table, **{name: "9"})


def test_a_time_is_that_of_its_time_zone(table: Table) -> None:
    assert read(table, timestampAsOf="2999-01-31 12:00:00+02:00") == (["id", "dt", "v", "n"], [1, 2])
    with pytest.raises(SnapshotNotFound):
        read(table, TimestampAsOf="1999-01-31T12:00:00Z")
    with pytest.raises(InvalidOption, match=r"timestampAsOf.*no time zone.*'2999-01-31Z'.*scan\.timestamp-millis"):
        read(table, timestampAsOf="2999-01-31")
    with pytest.raises(InvalidOption, match="'soon' is not a time"):
        read(table, timestampAsOf="soon")


@pytest.mark.parametrize("more", [{"timestampAsOf": "2999-01-31Z"}, {"scan.snapshot-id": "1"}, {"scan.version": "1"}])
def test_a_read_has_one_starting_point(table: Table, more: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=r"not both|one starting point"):
        read(table, versionAsOf="1", **more)


def test_time_travel_of_streams_and_writes_is_refused(table: Table) -> None:
    for name in ("versionAsOf", "timestampAsOf"):
        opened = source(table, **{name: "1"})
        with pytest.raises(UnsupportedFeature, match=rf"{name} of a stream is not supported; use 'scan\.mode'"):
            opened.streamReader(COLUMNS).initialOffset()
        for made in (opened.writer, opened.streamWriter):
            with pytest.raises(UnsupportedFeature, match=f"{name} of a write is not supported"):
                made(COLUMNS, overwrite=False)


@pytest.mark.parametrize(
    ("option", "value"), [("write-only", "true"), ("consumer-id", "c"), ("write.merge-schema", "true")]
)
def test_options_of_writes_and_streams_are_refused_by_a_batch_read(table: Table, option: str, value: str) -> None:
    with pytest.raises(InvalidOption, match=f"'{option}': would have no effect on a batch read"):
        read(table, **{option: value})


@pytest.mark.parametrize(("option", "value"), [("scan.snapshot-id", "1"), ("read.changelog", "true")])
def test_options_of_reads_are_refused_by_a_write(table: Table, option: str, value: str) -> None:
    for made in ("writer", "streamWriter"):
        with pytest.raises(InvalidOption, match=f"'{option}': would have no effect on a write"):
            getattr(source(table, **{option: value}), made)(COLUMNS, overwrite=False)


@pytest.mark.parametrize(
    ("foreign", "own"),
    [("mergeSchema", "write.merge-schema"), ("partitionOverwriteMode", "dynamic-partition-overwrite")],
)
def test_a_name_of_another_system_is_refused_with_the_name_here(table: Table, foreign: str, own: str) -> None:
    with pytest.raises(InvalidOption, match=f"'{foreign.lower()}' is not known; use '{own}'"):
        source(table, **{foreign: "true"}).writer(COLUMNS, overwrite=False)
    with pytest.raises(InvalidOption, match=f"'{foreign}' is not known; use '{own}'"):
        table.scan(options={foreign: "true"})


@pytest.mark.parametrize(
    ("options", "kept"), [({}, []), ({"dynamic-partition-overwrite": "true"}, [1]), ({"write-only": "true"}, [])]
)
def test_an_overwrite_replaces_all_rows_unless_the_write_says_otherwise(
    warehouse: Warehouse, options: dict[str, str], kept: list[int]
) -> None:
    stored = {"dynamic-partition-overwrite": "true"}
    table = warehouse.table(partition_keys=["dt"], options=stored)
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    writer = source(table, **options).writer(COLUMNS, overwrite=True)
    writer.commit([writer.write(iter(keyed([(3, "b", 3)]).to_batches()))])
    assert read(table)[1] == [*kept, 3]
