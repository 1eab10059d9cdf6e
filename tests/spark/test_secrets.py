"""Secrets and Spark: nothing of them in plans, settings, event logs, errors, command lines or what goes to workers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import TableFormatError
from table_format.secrets import SPARK_KEY_PATTERN, SPARK_TEXT_PATTERN
from table_format.spark import paimon
from table_format.spark.redaction import mask_secrets
from tests.secrets.test_patterns import PLAIN_KEYS, SECRET_KEYS
from tests.spark.lakes import TestLake
from tests.support.canaries import canary, leaks, leaks_in, pickled, texts_of

pytestmark = pytest.mark.spark

HUSH = canary("hush")
URI = f"s3://key:{HUSH}@bucket/warehouse"


def explained(frame: Any) -> str:
    execution = frame._jdf.queryExecution()
    return "\n".join([execution.toString(), execution.analyzed().toString(), execution.optimizedPlan().toString()])


def a_table(lake: TestLake) -> str:
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), ("token", pa.string())])
    table = lake.create(schema=columns)
    table.append(pa.table({"id": [1], "token": ["abc"]}, schema=columns))
    return str(table.store.paths.root)


def settings_of(spark: Any) -> str:
    conf = dict(spark.sparkContext.getConf().getAll())
    return repr(conf) + repr(spark.sql("SET -v").collect()) + repr(spark.sql("SET").collect())


def test_the_patterns_are_the_same_in_java(spark: Any) -> None:
    jvm = spark.sparkContext._jvm
    keys = jvm.java.util.regex.Pattern.compile(SPARK_KEY_PATTERN)
    for key in SECRET_KEYS:
        assert keys.matcher(key).find(), key
    for key in PLAIN_KEYS:
        assert keys.matcher(key).find() == bool(re.search(SPARK_KEY_PATTERN, key))
    texts = jvm.java.util.regex.Pattern.compile(SPARK_TEXT_PATTERN)
    for text in (URI, f"x?password={HUSH}&a=1", f"Options: [s3.secret-key={HUSH}, a=b]", f"bearer {HUSH}"):
        assert not leaks(texts.matcher(text).replaceAll("***"), HUSH)
    assert not texts.matcher("Filter (token#12 = abc) on hdfs://host:8020/a").find()


OF_THE_SOURCE: tuple[dict[str, str], ...] = (
    {"s3.secret-key": HUSH},
    {"fs.azure.account.key.shop": HUSH},
    {"local-kv-db.password": HUSH},
    {"warehouse": URI, "table": "s.t"},
    {"location": URI},
    {"owner": f"token={HUSH}"},
)


@pytest.mark.usefixtures("interpreted")
def test_no_option_of_the_data_source_shows_a_secret(lake: TestLake, capfd: Any) -> None:
    path = a_table(lake)
    spark = lake.spark
    rows = spark.range(1).selectExpr("id", "'x' AS token")
    for options in OF_THE_SOURCE:
        target = {} if "table" in options else {"path": path}
        reader = spark.read.format("paimon").options(**options)
        writer = rows.write.format("paimon").mode("append").options(**options)
        with pytest.raises(Exception) as refused_read:
            reader.load(**target).collect()
        with pytest.raises(Exception) as refused_write:
            writer.save(**target)
        assert not leaks(texts_of(refused_read.value) + texts_of(refused_write.value), HUSH), options
    out, err = capfd.readouterr()
    assert not leaks(settings_of(spark) + out + err, HUSH)


def test_a_location_with_credentials_is_not_repeated_by_spark(lake: TestLake) -> None:
    with pytest.raises(Exception) as failed:
        lake.spark.read.format("paimon").load(f"{URI}/s.db/t")
    assert not leaks(texts_of(failed.value), HUSH)
    with pytest.raises(TableFormatError) as refused:
        paimon(lake.spark, {"warehouse": URI})
    assert not leaks(texts_of(refused.value) + settings_of(lake.spark), HUSH)


def test_plans_show_no_value_of_an_option_that_names_a_secret(lake: TestLake, tmp_path: Path) -> None:
    path = a_table(lake)
    spark = lake.spark
    assert SPARK_KEY_PATTERN in spark.conf.get("spark.sql.redaction.options.regex")
    frames = [lake.lake.table("s.t"), spark.read.format("paimon").load(path)]
    # Any source of Spark is masked in a session with a lake: what comes from a JDBC source joins with tables.
    (tmp_path / "a.csv").write_text("id\n1\n")
    other = spark.read.option("s3.secret-key", HUSH).option("note", f"password={HUSH}").csv(str(tmp_path / "a.csv"))
    frames += [other, frames[0].join(other, frames[0].id == other._c0)]
    for frame in frames:
        assert not leaks(explained(frame), HUSH)
    assert "token" in explained(frames[0].where("token = 'abc'"))
    assert frames[0].collect() == frames[1].collect()
    assert not leaks(pickled(lake.table().facts), HUSH)


def test_patterns_of_the_session_are_kept(spark: Any) -> None:
    key = "spark.sql.redaction.string.regex"
    before = spark.conf.get(key, None)
    try:
        spark.conf.set(key, "shop-[0-9]+")
        mask_secrets(spark)
        once = spark.conf.get(key)
        mask_secrets(spark)
        assert spark.conf.get(key) == once == f"(?:shop-[0-9]+)|{SPARK_TEXT_PATTERN}"
    finally:
        spark.conf.unset(key)
        if before:
            spark.conf.set(key, before)


SESSION = """
import os, subprocess, sys
from pathlib import Path
import dagster as dg
import logging
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkResource
root = Path(sys.argv[1])
spark = SparkResource(
    master="local[1]", driver_memory="512m", progress=False,
    conf={"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{root}/events",
          "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"},
    secret_conf={"spark.hadoop.fs.s3a.secret.key": "SHOP_HADOOP", "spark.ssl.keyPassword": "SHOP_SSL"},
)
session = spark.session(print)
commands = [Path(f"/proc/{p}/cmdline").read_bytes() for p in os.listdir("/proc") if p.isdigit()
            and Path(f"/proc/{p}/cmdline").exists()]
(root / "commands").write_bytes(b"".join(c for c in commands if b"spark" in c.lower()))
lake = LakehouseCatalog(warehouse=f"{root}/warehouse").lake(session)
print(repr(session.sql("SET").collect()), repr(session.sql("SET -v").collect()))
logging.disable(logging.DEBUG)  # py4j logs every setting that is read
conf = dict(session.sparkContext.getConf().getAll())
print("hadoop in conf:", "spark.hadoop.fs.s3a.secret.key" in conf)
hadoop = session.sparkContext._jsc.hadoopConfiguration()
print("hadoop has it:", hadoop.get("fs.s3a.secret.key") == os.environ["SHOP_HADOOP"])
print("ssl has it:", conf["spark.ssl.keyPassword"] == os.environ["SHOP_SSL"])
print(session.range(3).count())
session.stop()
"""


def test_secret_settings_reach_spark_and_neither_command_line_nor_log(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    hadoop, ssl = canary("hadoop"), canary("ssl")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    own = {"SPARK_LOCAL_DIRS": str(tmp_path / "local"), "SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"]}
    done = subprocess.run(
        [sys.executable, "-c", SESSION, str(tmp_path)],
        cwd=Path(__file__).resolve().parents[2],
        env={**environment, "SHOP_HADOOP": hadoop, "SHOP_SSL": ssl, **own},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for fact in ("hadoop in conf: False", "hadoop has it: True", "ssl has it: True"):
        assert fact in done.stdout
    assert b"SparkSubmit" in (tmp_path / "commands").read_bytes()
    assert any(path.is_file() and path.stat().st_size for path in (tmp_path / "events").rglob("*"))
    assert not leaks(done.stdout + done.stderr, hadoop, ssl)
    assert not leaks_in(tmp_path, hadoop, ssl)
