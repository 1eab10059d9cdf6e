"""What merging means for one table: the one place where a merge engine is chosen (format chapter 12).

Rows of one key are ordered by the sequence columns, then by ``_SEQUENCE_NUMBER`` (format chapter 07, section 1).
"""

from __future__ import annotations

from table_format.errors import UnsupportedFeature
from table_format.kernels.merge import MergeSpec
from table_format.model.schema import TableSchema
from table_format.options.merge import MergeEngine
from table_format.options.table_options import TableOptions


def merge_spec(schema: TableSchema, options: TableOptions) -> MergeSpec:
    """How rows of one key of the table become one; keys are told by the table's columns, not by their ``_KEY_`` twins.

    Raises:
        UnsupportedFeature: the table has another merge engine than ``deduplicate``.
    """
    engine = options.merge.engine
    if engine is not MergeEngine.DEDUPLICATE:
        feature = f"merge-engine '{engine}'"
        raise UnsupportedFeature(feature)
    return MergeSpec(
        key_columns=schema.trimmed_primary_keys,
        sequence_columns=options.merge.sequence_fields,
        sequence_descending=options.merge.sequence_descending,
        ignore_delete=options.merge.ignore_delete,
    )
