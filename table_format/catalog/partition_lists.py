"""Whether the partitions of a table are listed in the metastore of its catalog (``metastore.partitioned-table``)."""

from __future__ import annotations

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.options.partitions import PARTITIONED_IN_METASTORE


def check_listed_partitions(old: TableSchema | None, new: TableSchema, *, lists_partitions: bool) -> None:
    """Check the option in a new table, or in a change of one. ``lists_partitions`` says whether the catalog can.

    Raises:
        UnsupportedFeature: the catalog lists no partitions. InvalidOption: a table that exists would change.
    """
    was = old is not None and PARTITIONED_IN_METASTORE.read(old.options)
    wants = PARTITIONED_IN_METASTORE.read(new.options)
    if wants and not was and not lists_partitions:
        feature = f"{PARTITIONED_IN_METASTORE.key}=true"
        message = (
            f"option '{PARTITIONED_IN_METASTORE.key}' = 'true' needs a catalog that lists partitions: one in a Hive "
            "metastore or on a REST server"
        )
        raise UnsupportedFeature(feature, message)
    if old is not None and was != wants and lists_partitions:
        raise InvalidOption(
            PARTITIONED_IN_METASTORE.key, "cannot change: the catalog keeps the partition columns of a table"
        )
