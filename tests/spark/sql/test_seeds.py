"""Published scripts about Paimon, in Flink syntax, with their published results."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

SEQUENCE_GROUPS = """
-- a partial-update table with a sequence group for each group of columns
CREATE TABLE t
(
    k   INT,
    a   INT,
    b   INT,
    g_1 INT,
    c   INT,
    d   INT,
    g_2 INT,
    PRIMARY KEY (k) NOT ENFORCED
) WITH (
      'merge-engine' = 'partial-update',
  --  the sequence group of g_1 has the columns a, b
      'fields.g_1.sequence-group' = 'a,b',
  -- the sequence group of g_2 has the columns c, d
      'fields.g_2.sequence-group' = 'c,d'
      );

INSERT INTO t
VALUES (1, 1, 1, 1, 1, 1, 1);

-- g_2 is null, so c, d are not updated
INSERT INTO t
VALUES (1, 2, 2, 2, 2, 2, CAST(NULL AS INT));

SELECT *
FROM t;
-- output 1, 2, 2, 2, 1, 1, 1

-- g_1 is smaller, so a, b are not updated
INSERT INTO t
VALUES (1, 3, 3, 1, 3, 3, 3);

SELECT *
FROM t; -- output 1, 2, 2, 2, 3, 3, 3
"""

TWO_SEQUENCE_FIELDS = """
CREATE TABLE SG
(
    k   INT,
    a   INT,
    b   INT,
    g_1 INT,
    c   INT,
    d   INT,
    g_2 INT,
    g_3 INT,
    PRIMARY KEY (k) NOT ENFORCED
) WITH (
      'merge-engine' = 'partial-update',
      'fields.g_1.sequence-group' = 'a,b',
      'fields.g_2,g_3.sequence-group' = 'c,d'
      );

INSERT INTO SG
VALUES (1, 1, 1, 1, 1, 1, 1, 1);

-- g_2, g_3 should not be updated
INSERT INTO SG
VALUES (1, 2, 2, 2, 2, 2, 1, CAST(NULL AS INT));

SELECT *
FROM SG;
-- output 1, 2, 2, 2, 1, 1, 1, 1

-- g_1 should not be updated
INSERT INTO SG
VALUES (1, 3, 3, 1, 3, 3, 3, 1);

SELECT *
FROM SG;
-- output 1, 2, 2, 2, 3, 3, 3, 1
"""

AGGREGATED_GROUPS = """
CREATE TABLE t
(
    k INT,
    a INT,
    b INT,
    c INT,
    d INT,
    PRIMARY KEY (k) NOT ENFORCED
) WITH (
      'merge-engine' = 'partial-update',
      'fields.a.sequence-group' = 'b',
      'fields.b.aggregate-function' = 'first_value',
      'fields.c.sequence-group' = 'd',
      'fields.d.aggregate-function' = 'sum'
      );
INSERT INTO t
VALUES (1, 1, 1, CAST(NULL AS INT), CAST(NULL AS INT));
INSERT INTO t
VALUES (1, CAST(NULL AS INT), CAST(NULL AS INT), 1, 1);
INSERT INTO t
VALUES (1, 2, 2, CAST(NULL AS INT), CAST(NULL AS INT));
INSERT INTO t
VALUES (1, CAST(NULL AS INT), CAST(NULL AS INT), 2, 2);


SELECT *
FROM t; -- output 1, 2, 1, 2, 3
"""

AGGREGATION = """
CREATE TABLE my_table (
    product_id BIGINT,
    price DOUBLE,
    sales BIGINT,
    PRIMARY KEY (product_id) NOT ENFORCED
) WITH (
    'merge-engine' = 'aggregation',
    'fields.price.aggregate-function' = 'max',
    'fields.sales.aggregate-function' = 'sum'
);
INSERT INTO my_table VALUES (1, 23.0, 15);
INSERT INTO my_table VALUES (1, 30.2, 20);
SELECT * FROM my_table;
"""

ORDER_WIDE = """
-- the orders
CREATE TABLE orders (
  order_id BIGINT PRIMARY KEY NOT ENFORCED,
  user_name STRING,
  address STRING
);

-- sub orders that belong to the same order have the same order_id
CREATE TABLE sub_orders (
  order_id BIGINT,
  sub_order_id INT,
  product_name STRING,
  price BIGINT,
  PRIMARY KEY (order_id, sub_order_id) NOT ENFORCED
);

-- the wide table
CREATE TABLE order_wide (
  order_id BIGINT PRIMARY KEY NOT ENFORCED,
  user_name STRING,
  address STRING,
  sub_orders ARRAY<ROW<sub_order_id BIGINT, product_name STRING, price BIGINT>>
) WITH (
  'merge-engine' = 'aggregation',
  'fields.sub_orders.aggregate-function' = 'nested_update',
  'fields.sub_orders.nested-key' = 'sub_order_id'
);

INSERT INTO orders VALUES (1, 'Wang', 'Hangzhou');
INSERT INTO sub_orders VALUES (1, 1, 'Apple', 8000), (1, 2, 'Tesla', 400000);

-- widen
INSERT INTO order_wide

SELECT
  order_id,
  user_name,
  address,
  CAST (NULL AS ARRAY<ROW<sub_order_id BIGINT, product_name STRING, price BIGINT>>)
FROM orders

UNION ALL

SELECT
  order_id,
  CAST (NULL AS STRING),
  CAST (NULL AS STRING),
  ARRAY[ROW(sub_order_id, product_name, price)]
FROM sub_orders;

-- query with UNNEST
SELECT order_id, user_name, address, sub_order_id, product_name, price
FROM order_wide, UNNEST(sub_orders) AS so(sub_order_id, product_name, price)
"""

PARTITIONED = """
CREATE TABLE part_t (
    f0 INT,
    f1 STRING,
    dt STRING
) PARTITIONED BY (dt);

INSERT INTO part_t VALUES (1, '11', '20240514');
SHOW PARTITIONS part_t;
"""

KEYED = """
CREATE TABLE my_table (
    k INT PRIMARY KEY NOT ENFORCED,
    f0 INT,
    f1 STRING
);

INSERT INTO my_table VALUES (1, 11, '111');
SELECT * FROM my_table;
"""

SCRIPTS: dict[str, list[list[tuple[Any, ...]]]] = {
    SEQUENCE_GROUPS: [[(1, 2, 2, 2, 1, 1, 1)], [(1, 2, 2, 2, 3, 3, 3)]],
    TWO_SEQUENCE_FIELDS: [[(1, 2, 2, 2, 1, 1, 1, 1)], [(1, 2, 2, 2, 3, 3, 3, 1)]],
    AGGREGATED_GROUPS: [[(1, 2, 1, 2, 3)]],
    AGGREGATION: [[(1, 30.2, 35)]],
    ORDER_WIDE: [[(1, "Wang", "Hangzhou", 1, "Apple", 8000), (1, "Wang", "Hangzhou", 2, "Tesla", 400000)]],
    PARTITIONED: [[("dt=20240514",)]],
    KEYED: [[(1, 11, "111")]],
}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.split("CREATE TABLE ")[-1].split()[0])
def test_a_published_script_gives_the_published_rows(lake: TestLake, script: str) -> None:
    shown = [frame for frame in lake.lake.run_script("USE s;" + script) if frame.columns]
    # A query reads the table as it was at this point of the script.
    assert [sorted(map(tuple, frame.collect())) for frame in shown] == SCRIPTS[script]


def test_published_alter_table_statements_change_options(lake: TestLake) -> None:
    lake.lake.sql("USE s; CREATE TABLE orders (id BIGINT PRIMARY KEY NOT ENFORCED, v STRING)")
    lake.lake.sql("ALTER TABLE orders SET ('full-compaction.delta-commits' = '1')")
    assert lake.table("orders").schema.options["full-compaction.delta-commits"] == "1"
    lake.lake.sql("ALTER TABLE orders RESET ('full-compaction.delta-commits')")
    lake.lake.sql("ALTER TABLE orders SET ('deletion-vectors.enabled' = 'true')")
    assert lake.table("orders").schema.options["deletion-vectors.enabled"] == "true"


SYSTEM_TABLES = (
    "SELECT * FROM my_table$snapshots",
    "SELECT * FROM paimon.s.`my_table$snapshots`",
    "SELECT * FROM my_table$schemas",
    "SELECT * FROM my_table$options",
    "SELECT s.snapshot_id, t.schema_id, t.fields \n"
    "    FROM my_table$snapshots s JOIN my_table$schemas t \n"
    "    ON s.schema_id=t.schema_id where s.snapshot_id=1",
    "SELECT * FROM my_table$audit_log",
    "SELECT * FROM my_table$binlog",
    "SELECT * FROM my_table$ro",
    "SELECT * FROM my_table$files",
    "SELECT * FROM my_table$files /*+ OPTIONS('scan.snapshot-id'='1') */",
    "SELECT * FROM my_table$tags",
    "SELECT * FROM my_table$manifests",
    "SELECT * FROM my_table$manifests /*+ OPTIONS('scan.snapshot-id'='1') */",
    "SELECT * FROM my_table$manifests /*+ OPTIONS('scan.tag-name'='tag1') */",
    "SELECT * FROM my_table$aggregation_fields",
    "SELECT * FROM my_table$partitions",
    "SELECT * FROM my_table$buckets",
    "SELECT * FROM my_table$statistics",
    "SELECT * FROM sys.all_table_options",
    "SELECT * FROM sys.catalog_options",
)


def test_published_queries_of_system_tables_run(lake: TestLake) -> None:
    lake.lake.sql(
        "USE s; CREATE TABLE my_table (product_id BIGINT NOT NULL, price INT, PRIMARY KEY (product_id) NOT ENFORCED) "
        "WITH ('bucket' = '1', 'merge-engine' = 'aggregation', 'fields.price.aggregate-function' = 'sum');"
        "INSERT INTO my_table VALUES (1, 1), (2, 2); CALL sys.create_tag('my_table', 'tag1', 1);"
        "CALL sys.compact(table => 'my_table'); ANALYZE TABLE my_table COMPUTE STATISTICS"
    )
    assert [query for query in SYSTEM_TABLES if not lake.lake.sql(query).collect()] == []
    names = [row.tableName for row in lake.lake.sql("USE sys; SHOW TABLES").collect()]
    assert {"all_table_options", "catalog_options"} <= set(names)
