"""SQL through Spark Connect, in the process of ``tests.spark.connect_session``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from table_format.errors import TableFormatError
from table_format.spark import Lake, paimon

STATEMENTS = (
    "CREATE DATABASE s; USE s; CREATE TABLE t (k INT NOT NULL, v STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
    "WITH ('bucket' = '2')",
    "INSERT INTO t VALUES (1, 'a', 10), (2, '{b}', 20); INSERT INTO t (n, k) SELECT 30, 3",
    "SELECT * FROM t",
    "SELECT s.t.v FROM s.t WHERE t.k = :k",
    "SELECT count(*) FROM t VERSION AS OF 1",
    "SELECT k FROM t WHERE n IN (SELECT max(n) FROM t) OR EXISTS (SELECT 1 FROM t x WHERE x.k = t.k + 2)",
    "WITH a AS (SELECT k FROM t) SELECT a.k FROM a JOIN t$snapshots s ON a.k = s.snapshot_id",
    "SELECT k FROM paimon_incremental_query('t', 1, 2)",
    "CREATE TEMPORARY VIEW w AS SELECT k * 100 AS h FROM t; SELECT h FROM w",
    "CREATE TABLE c PARTITIONED BY (v) AS SELECT k, v FROM t WHERE v IS NOT NULL; SHOW PARTITIONS c",
    "INSERT OVERWRITE c PARTITION (v = 'a') VALUES (9); SELECT * FROM c",
    "CALL sys.create_tag('t', 'x'); SHOW TAGS t",
    "CALL sys.compact('t', partitions => :none)",
    "CALL sys.verify('t')",
    "SHOW TABLES",
    "DESCRIBE t",
    "SELECT * FROM t TIMESTAMP AS OF '2000-01-01'",
    "SELECT 1 + 1",
    "SELECT __paimon_row_index AS i, *, __paimon_partition.v AS p FROM c WHERE k = 9",
    "TABLE t ORDER BY t.k LIMIT 1",
    "FROM t |> ORDER BY k |> LIMIT 2 |> WHERE k > 1 |> SELECT k",
    "FROM t |> AGGREGATE sum(n) AS k GROUP BY v |> WHERE k > 5 |> AGGREGATE count(*)",
    "INSERT INTO c REPLACE WHERE v = 'a' SELECT 11, 'a'",
    "SELECT k FROM c WHERE v = 'a'",
    "CREATE TABLE e (k INT); CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY AS "
    "SELECT t.k FROM t LEFT JOIN e ON t.k = e.k WHERE t.k > 1 AND e.k IS NULL; SELECT * FROM m",
    "INSERT INTO e VALUES (3); ALTER MATERIALIZED TABLE m REFRESH; SELECT * FROM m",
)
LIMITED = (
    "SELECT k AS v, v AS k FROM t ORDER BY k DESC, t.n LIMIT 1 OFFSET 1",
    "SELECT * FROM t WHERE n >= 20 ORDER BY n LIMIT :n",
    "SELECT k FROM t WHERE n + 1 > 20 ORDER BY n DESC LIMIT 1",
    "SELECT sum(k) FROM t LIMIT 1",
    "SELECT __paimon_row_index, k FROM t ORDER BY k LIMIT 1",
)


class Recording(Lake):
    """Records the filter with which tables are read."""

    def table(self, name: str, **arguments: Any) -> Any:
        limit = {key: value for key, value in arguments.items() if key in ("order_by", "limit")}
        print(name, arguments["filter"], *limit.values())
        return super().table(name, **arguments)


def run_statements(spark: Any, warehouse: Path) -> None:
    """Run statements and print their rows."""
    lake = paimon(spark, {"warehouse": str(warehouse)})
    for text in STATEMENTS:
        try:
            rows = lake.sql(text, k=2, none=None).collect()
        except TableFormatError as error:
            print(type(error).__name__)
        else:
            print(sorted(map(tuple, rows), key=repr))
    print("n#" in lake.sql("SELECT v FROM t WHERE k > 0")._explain_string())
    Recording(spark, lake.catalog, lake.sql_state).sql("SELECT k FROM c WHERE v = 'nothing' AND k > 3 AND k + 1 > 2")
    recording = Recording(spark, lake.catalog, lake.sql_state)
    for text in LIMITED:
        print(list(map(tuple, recording.sql(text, n=1).collect())))
    lake.attach("s")
    print(sorted(map(tuple, spark.sql("SELECT k FROM s.c").collect())))
    try:
        spark.sql("CREATE TABLE s.made (a INT) USING paimon")
    except TableFormatError as error:
        print(type(error).__name__)
    lake.write_to(spark.sql("SELECT 1 AS a"), "s.n").create()
    lake.write(spark.sql("SELECT 'x' AS b"), "s.n", options={"write.merge-schema": "true"})
    print(sorted(map(tuple, spark.sql("SELECT * FROM s.n").collect()), key=repr))
    for condition in ("v = 'a'", "k = 1"):
        try:
            lake.write_to(spark.sql("SELECT 12 AS k, 'a' AS v"), "s.c").overwrite(condition)
        except TableFormatError as error:
            print(type(error).__name__)
        print(sorted(tuple(row) for row in lake.table("s.c", filter="v = 'a'").collect()))
    _use_views(spark, warehouse)
    _use_materialized_tables(lake)


def _use_views(spark: Any, warehouse: Path) -> None:
    names = f"jdbc:sqlite:{warehouse.parent}/names.db"
    lake = paimon(spark, {"warehouse": f"{warehouse}-of-views", "metastore": "jdbc", "uri": names})
    lake.sql(
        "CREATE DATABASE s; USE s; CREATE TABLE t (k INT, v STRING); INSERT INTO t VALUES (1, 'a'), (2, 'b');"
        "CREATE VIEW w AS SELECT k * 10 AS n, v FROM s.t WHERE k > 1; CREATE VIEW x AS SELECT k FROM t"
    )
    print(list(map(tuple, lake.sql("SELECT w.n, t.k FROM w JOIN t ON w.v = t.v WHERE t.k < 3").collect())))
    lake.sql("DROP TABLE t")
    for view in ("w", "x"):
        try:
            lake.sql(f"TABLE {view}").collect()
        except TableFormatError as error:
            print(type(error).__name__)


def _use_materialized_tables(lake: Lake) -> None:
    lake.sql(
        "CREATE TABLE sales (day STRING, n INT); INSERT INTO sales VALUES ('a', 1), ('b', 2);"
        "CREATE MATERIALIZED TABLE totals PARTITIONED BY (day) FRESHNESS = INTERVAL '1' SECOND AS "
        "SELECT day, sum(n) AS n FROM sales GROUP BY day; INSERT INTO sales VALUES ('b', 3)"
    )
    print(lake.refresh("s.totals").partitions, sorted(map(tuple, lake.sql("SELECT * FROM totals").collect())))
