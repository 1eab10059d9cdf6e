"""Smaller functions for integrations: argument checks, types, column values and names of the format, and the classes
that format tables hand from one method to the next.

The behaviour of these functions is stable. New arguments may be added.
"""

from __future__ import annotations

from table_format.catalog.registry import warehouse_is_directory
from table_format.format_table.directories import Directories
from table_format.format_table.files import Files
from table_format.format_table.scan import FormatFile, FormatPlan
from table_format.format_table.write import EncodedFile, FormatWrite
from table_format.io.partition_list import PartitionList
from table_format.io.partition_path import DEFAULT_PARTITION_NAME, shown_partition
from table_format.kernels.key_shards import KeyShard
from table_format.kernels.predicate import matches
from table_format.kernels.sort_keys import OrderStrategy
from table_format.kernels.stored_keys import stored_key
from table_format.kernels.values import values_of
from table_format.metastore.expiry.orphans import GRACE_MS
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.model import arguments
from table_format.model.arrow_calls import nulls, schema
from table_format.model.consumed import Consumed, SnapshotsById, consumed_by, snapshot_fingerprint
from table_format.model.identifier import MAIN_BRANCH
from table_format.model.row_kind import ROW_KIND_COLUMN
from table_format.model.same_rows import keeps_rows
from table_format.model.type_changes import can_widen
from table_format.nearest_names import nearest
from table_format.options.compaction import STOP_TRIGGER
from table_format.options.expire import NUM_RETAINED_MAX
from table_format.options.format_table import FormatTableOptions
from table_format.options.stream import ChangelogProducer
from table_format.options.values import duration
from table_format.table.rows.casts import cast_column
from table_format.table.rows.partition_values import partition_spec
from table_format.table.rows.whole_floats import with_integers
from table_format.table.upkeep.named_parts import require_partitions

__all__ = [
    "DEFAULT_PARTITION_NAME",
    "GRACE_MS",
    "MAIN_BRANCH",
    "NUM_RETAINED_MAX",
    "ROW_KIND_COLUMN",
    "STOP_TRIGGER",
    "ChangelogProducer",
    "Consumed",
    "Directories",
    "EncodedFile",
    "Files",
    "FormatFile",
    "FormatPlan",
    "FormatTableOptions",
    "FormatWrite",
    "KeyShard",
    "OrderStrategy",
    "PartitionList",
    "SnapshotsById",
    "arguments",
    "can_widen",
    "cast_column",
    "consumed_by",
    "duration",
    "explaining_expiry",
    "keeps_rows",
    "matches",
    "nearest",
    "nulls",
    "partition_spec",
    "require_partitions",
    "schema",
    "shown_partition",
    "snapshot_fingerprint",
    "stored_key",
    "values_of",
    "warehouse_is_directory",
    "with_integers",
]
