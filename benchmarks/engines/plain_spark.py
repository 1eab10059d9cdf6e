"""The reference: plain Spark writes and reads the same rows as Parquet, without a table format."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.measure import Recorder
from benchmarks.source import MERGING, UPSERTS, Source
from benchmarks.spark_session import aggregate, session


def main(source: Source, scratch: Path) -> None:
    spark = session(scratch)
    record = Recorder()
    rows = spark.read.parquet(str(source.base))
    target = str(scratch / "plain")
    rows.write.mode("overwrite").parquet(target + "-warm")
    spark.read.parquet(str(source.upsert(0))).write.mode("overwrite").parquet(target + "-warm")
    aggregate(spark.read.parquet(target + "-warm"))
    record.best_of(3, "load", lambda: rows.write.mode("overwrite").parquet(target))
    for number in range(UPSERTS):
        batch = spark.read.parquet(str(source.upsert(number)))
        record.run("upsert", lambda batch=batch: batch.write.mode("append").parquet(target + "-upserts"))
    batches = spark.read.parquet(*(str(source.upsert(number)) for number in range(UPSERTS)))
    minor = target + "-minor"
    record.best_of(3, "minor compaction", lambda: batches.write.mode("overwrite").parquet(minor))
    merged = target + "-merged"
    compacted = spark.read.parquet(str(source.merged))
    record.best_of(3, "full compaction", lambda: compacted.write.mode("overwrite").parquet(merged))
    for workload in ("merge-on-read scan", *MERGING, "scan after compaction", "append scan"):
        read = merged if workload != "append scan" else target
        record.best_of(3, workload, lambda read=read: aggregate(spark.read.parquet(read)))
    record.best_of(3, "append write", lambda: rows.write.mode("overwrite").parquet(target + "-append"))
    spark.stop()


if __name__ == "__main__":
    main(Source(Path(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3]))
