"""Checks which values of ``spark.write.exchange`` a table supports."""

from __future__ import annotations

from typing import Final

from table_format.errors import UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.options.bucket import BUCKET
from table_format.options.bucket_mode import CrossPartition, Dynamic, bucket_mode
from table_format.options.compaction import WRITE_ONLY
from table_format.options.deletion_vectors import ENABLED
from table_format.options.table_options import TableOptions
from table_format.options.write import SPARK_EXCHANGE, Exchange

EXCHANGE_KEYS: Final = frozenset({SPARK_EXCHANGE.key, BUCKET.key, WRITE_ONLY.key, ENABLED.key})
"""Options that decide it."""

_BY_ASSIGNERS: Final = (Exchange.AUTO, Exchange.SHUFFLE)


def check_exchange(schema: TableSchema, options: TableOptions) -> None:
    """Refuse an exchange that no write to the table can use.

    Raises:
        UnsupportedFeature: the message names the value and the reason.
    """
    wanted = options.write.spark_exchange
    shown = f"'{SPARK_EXCHANGE.key}' = '{wanted.value}'"
    mode = bucket_mode(schema, options.bucket)
    if isinstance(mode, Dynamic | CrossPartition):
        if wanted not in _BY_ASSIGNERS:
            feature = f"{shown}: the tasks that assign the buckets of keys also write them, which takes 'shuffle'"
            raise UnsupportedFeature(feature)
        return
    if wanted is not Exchange.NONE:
        return
    reasons = {
        "the table has no primary key": not schema.is_primary_key_table,
        "the table is not 'write-only'": not options.compaction.write_only,
        "the table has deletion vectors": options.deletion_vectors.enabled,
    }
    for reason, holds in reasons.items():
        if holds:
            feature = f"{shown}: {reason}, so two tasks cannot write to a bucket"
            raise UnsupportedFeature(feature)
