"""Statistics files."""

from __future__ import annotations

import pytest

from table_format.codecs.statistics_json import decode_statistics, encode_statistics
from table_format.errors import BadEncoding
from table_format.model.statistics import ColumnStatistics, Statistics
from tests.support.golden import golden_case


def test_files_of_paimon_are_written_as_they_were_read() -> None:
    files = sorted(golden_case("spark_statistics").warehouse.rglob("stats-*"))
    assert len(files) == 3
    for file in files:
        data = file.read_bytes()
        assert encode_statistics(decode_statistics(data, path=str(file))) == data


def test_unknown_statistics_are_left_out() -> None:
    some = Statistics(snapshot_id=1, schema_id=2, columns={"v": ColumnStatistics(field_id=3, null_count=4)})
    assert decode_statistics(encode_statistics(some), path="f") == some
    assert b"mergedRecord" not in encode_statistics(some)
    assert decode_statistics(b'{"snapshotId": 1, "schemaId": 2}', path="f").columns == {}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}", "'snapshotId': expected an integer"),
        (b'{"snapshotId": 1, "schemaId": 2, "colStats": [1]}', "'colStats': expected an object"),
        (b'{"snapshotId": 1, "schemaId": 2, "colStats": {"v": 1}}', "column 'v': expected an object"),
        (b'{"snapshotId": 1, "schemaId": 2, "colStats": {"v": {"colId": 1, "min": 5}}}', "'min': expected a text"),
        (b"[]", "expected a JSON object"),
    ],
)
def test_a_file_that_is_not_statistics_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(BadEncoding, match=message):
        decode_statistics(data, path="statistics/stat-1")
