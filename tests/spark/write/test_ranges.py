"""The work of the tasks of a sort compaction."""

from __future__ import annotations

from table_format.spark.write.ranges import pieces_of
from table_format.table.upkeep.bucket_compaction import buckets_to_compact
from tests.support.deletion_marks import live
from tests.support.tables import keyed, memory_warehouse


def test_a_task_gets_only_the_metadata_of_the_files_that_it_reads() -> None:
    options = {"deletion-vectors.enabled": "true", "source.split.target-size": "1 b", "write-only": "true"}
    table = memory_warehouse().table(options=options)
    for number in range(4):
        table.append(keyed([(2 * number, "a", 1), (2 * number + 1, "a", 1)]))
    table.delete("id <= 2")
    facts = table.facts
    [bucket] = buckets_to_compact(facts, None, snapshot=facts.snapshots.latest())
    assert bucket.deletions is not None
    pieces = pieces_of(facts, [[bucket]])
    found = [pieces[number].work for number in range(len(pieces))]
    assert [len(work.files) for work in found] == [1, 1, 1, 1]
    assert sorted(file.file_name for work in found for file in work.files) == sorted(
        entry.file.file_name for entry in live(table)
    )
    vectors = {}
    for work in found:
        assert work.deletions is not None
        assert work.deletions.files.keys() <= {file.file_name for file in work.files}
        vectors.update(work.deletions.files)
    assert vectors == bucket.deletions.files
    batches = [batch for number in range(4) for batch in pieces[number].read(facts, facts.schema.fields)]
    assert [row["id"] for batch in batches for row in batch.to_pylist()] == [3, 4, 5, 6, 7]
