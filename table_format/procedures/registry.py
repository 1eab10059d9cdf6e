"""The procedures by name (Java ``SparkProcedures``; ``expire_changelogs`` and ``drop_partition`` are Flink's).

To add one here, declare it in a module of this package and add it to ``PROCEDURES``. Programs call
``register_procedure``.
"""

from __future__ import annotations

from typing import Final

from table_format.procedures.compaction import (
    ANALYZE,
    COMPACT,
    COMPACT_DATABASE,
    DROP_PARTITION,
    RESCALE,
    REWRITE_FILE_INDEX,
)
from table_format.procedures.consumers import CLEAR_CONSUMERS, RESET_CONSUMER
from table_format.procedures.declare import Procedure
from table_format.procedures.expiry import EXPIRE_CHANGELOGS, EXPIRE_SNAPSHOTS, EXPIRE_TAGS, REMOVE_ORPHAN_FILES
from table_format.procedures.history import (
    CREATE_BRANCH,
    CREATE_TAG,
    CREATE_TAG_FROM_TIMESTAMP,
    DELETE_BRANCH,
    DELETE_TAG,
    FAST_FORWARD,
    RENAME_BRANCH,
    RENAME_TAG,
    REPLACE_TAG,
    ROLLBACK,
    ROLLBACK_BEFORE,
    ROLLBACK_TO_TIMESTAMP,
    ROLLBACK_TO_WATERMARK,
    TRIGGER_TAG_AUTOMATIC_CREATION,
)
from table_format.procedures.objects import REFRESH_OBJECT_TABLE
from table_format.procedures.partitions import EXPIRE_PARTITIONS, MARK_PARTITION_DONE
from table_format.procedures.repair import REPAIR
from table_format.procedures.verification import VERIFY
from table_format.procedures.views import ALTER_VIEW_DIALECT
from table_format.registry import Registry

PROCEDURES: Final = Registry(
    "procedure",
    (
        COMPACT,
        COMPACT_DATABASE,
        RESCALE,
        REWRITE_FILE_INDEX,
        ANALYZE,
        DROP_PARTITION,
        EXPIRE_PARTITIONS,
        MARK_PARTITION_DONE,
        EXPIRE_SNAPSHOTS,
        EXPIRE_CHANGELOGS,
        EXPIRE_TAGS,
        REMOVE_ORPHAN_FILES,
        CREATE_TAG,
        CREATE_TAG_FROM_TIMESTAMP,
        REPLACE_TAG,
        RENAME_TAG,
        DELETE_TAG,
        TRIGGER_TAG_AUTOMATIC_CREATION,
        CREATE_BRANCH,
        DELETE_BRANCH,
        RENAME_BRANCH,
        FAST_FORWARD,
        ROLLBACK,
        ROLLBACK_TO_TIMESTAMP,
        ROLLBACK_TO_WATERMARK,
        ROLLBACK_BEFORE,
        RESET_CONSUMER,
        CLEAR_CONSUMERS,
        REFRESH_OBJECT_TABLE,
        VERIFY,
        REPAIR,
        ALTER_VIEW_DIALECT,
    ),
    name_of=lambda procedure: procedure.name,
)


def register_procedure(procedure: Procedure) -> None:
    """Register a procedure in this process.

    Raises:
        AlreadyExistsError: the name is taken.
    """
    PROCEDURES.register(procedure)
