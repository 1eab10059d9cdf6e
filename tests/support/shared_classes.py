"""An archive of Spark's classes, which saves each JVM of the tests about ten seconds of CPU time.

``python -m tests.support.shared_classes`` makes the archive where there is none: it runs a little of everything in a
JVM that stores the classes it has loaded when it ends. Without the archive each of the dozens of JVMs that the tests
start finds and verifies the same classes again. A JVM of another version, or with other jars, ignores the archive.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from table_format.errors import JavaNotFound
from table_format.java import default_launchers, find_java

QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m -XX:MetaspaceSize=256m"
"""A JVM that lives for minutes does not spend half of them on optimising code.

Nor on compiling it again: without the optimising compiler Java reserves 48 MB for compiled code, which the classes that
Spark generates fill within a minute. From then on the JVM drops and compiles again what it still runs. It also collects
the garbage of the whole heap each time these classes outgrow a bound, which is 21 MB at first.
"""

_SILENT: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_TRAINING: Final = 300.0
"""Seconds after which the training is given up; it takes about a minute."""


def java_options() -> str:
    """Options of the JVMs of the tests: quick ones, and the archive where ``make test`` has made it."""
    archive = _archive()
    return f"{QUICK} -XX:SharedArchiveFile={archive} {_SILENT}" if archive and archive.exists() else QUICK


def make_archive() -> Path | None:
    """Return the archive, created if it does not exist; ``None`` if this Java cannot create one."""
    archive = _archive()
    if archive is None or archive.exists():
        return archive
    with tempfile.TemporaryDirectory(dir=archive.parent, ignore_cleanup_errors=True) as directory:
        made = Path(directory) / archive.name
        options = f"{QUICK} -XX:ArchiveClassesAtExit={made} {_SILENT}"
        try:
            subprocess.run(
                [sys.executable, "-m", "tests.support.shared_classes", "--train", str(Path(directory) / "work")],
                env={**os.environ, "SPARK_SUBMIT_OPTS": options},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TRAINING,
                check=True,
            )
            made.replace(archive)
        except (subprocess.SubprocessError, FileNotFoundError):
            return None
    return archive


def _archive() -> Path | None:
    """The place beside the packages, whose jars it is for; each Java has its own. ``None`` where there is no Java."""
    try:
        java = find_java(os.environ, launchers=default_launchers())
    except JavaNotFound:
        return None
    release = java.home / "release"
    key = hashlib.sha256(release.read_bytes() if release.exists() else str(java).encode()).hexdigest()
    return Path(sys.prefix) / f"spark-classes-{key[:12]}.jsa"


def _train(directory: Path) -> None:
    """What most tests on Spark do, once."""
    from tests.spark.lakes import a_lake
    from tests.support.spark_session import local_session

    spark = local_session(directory / "spark")
    lake = a_lake(spark, directory / "warehouse")
    lake.create()
    lake.create("marked", **{"deletion-vectors.enabled": "true"})
    lake.create("plain", primary_keys=())
    for name in ("t", "marked", "plain"):
        lake.write([(i, str(i)) for i in range(9)], name=name)
        lake.write([(3, "three")], name=name)
        lake.rows(name, filter="id > 2")
        lake.lake.sql(f"UPDATE s.{name} SET v = concat(v, 'x') WHERE id IN (1, 2)")  # noqa: S608 a name of this list
        lake.lake.sql(f"MERGE INTO s.{name} t USING s.t s ON t.id = s.id + 1 WHEN MATCHED THEN DELETE")
        lake.lake.sql(f"SELECT v, count(*), max(id) FROM s.{name} GROUP BY v ORDER BY v LIMIT 3").collect()  # noqa: S608 a name of this list
        lake.lake.sql(f"CALL sys.compact(table => 's.{name}')")
    path = str(lake.table("plain").store.paths.root)
    spark.read.format("paimon").load(path).where("id > 1").join(lake.lake.table("s.t"), "id").toPandas()
    stream = spark.readStream.format("paimon").load(path).writeStream.format("memory").queryName("seen")
    stream.trigger(availableNow=True).option(
        "checkpointLocation", str(directory / "checkpoint")
    ).start().awaitTermination()
    for file_format in ("parquet", "orc", "json", "csv"):
        spark.range(9).write.format(file_format).save(str(directory / file_format))
        spark.read.format(file_format).load(str(directory / file_format)).count()
    jvm = spark.sparkContext._gateway.proc
    spark.stop()
    # The JVM writes the archive when it ends, and it ends with its input.
    jvm.stdin.close()
    jvm.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        _train(Path(sys.argv[2]))
    else:
        found = make_archive()
        print(
            f"Spark's classes are archived in {found}."
            if found
            else "This Java makes no archive; its JVMs start slower."
        )
