"""Tables of hives, with the key rule of another company: three-part keys, and one table named by its metadata."""

import dagster as dg
import pandas as pd
import polars as pl
import pyarrow as pa

weeks = dg.StaticPartitionsDefinition(["w1", "w2", "w3"])


@dg.asset(
    key=["eu", "apiary", "weights"],
    partitions_def=weeks,
    io_manager_key="paimon_io",
    metadata={"partition_expr": "week"},
)
def weights(context: dg.AssetExecutionContext) -> pd.DataFrame:
    """The weight of two hives in a week."""
    week = context.partition_key
    return pd.DataFrame({"week": [week, week], "hive": [1, 2], "grams": [100 * int(week[1]), 50]})


@dg.asset(
    key="heaviest",
    ins={"weights": dg.AssetIn(key=["eu", "apiary", "weights"])},
    io_manager_key="paimon_io",
    metadata={
        "paimon/table": "apiary.heaviest_weeks",
        "paimon/write_mode": "upsert",
        "paimon/primary_key": ["hive"],
        "paimon/options": {"bucket": "1"},
    },
)
def heaviest(weights: pl.DataFrame) -> pl.DataFrame:
    """The week in which each hive was heaviest."""
    return weights.sort("grams", "week").group_by("hive", maintain_order=True).last().select("hive", "week", "grams")


@dg.asset(
    key=["eu", "apiary", "total"],
    ins={"heaviest": dg.AssetIn(key="heaviest")},
    io_manager_key="paimon_io",
)
def total(heaviest: pa.Table) -> pa.Table:
    """One row: the weight of all hives at their best."""
    return pa.table({"grams": [sum(heaviest["grams"].to_pylist())]})
