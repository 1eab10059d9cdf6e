"""``partial-update``: each column has the newest non-null value (format chapter 12, sections 4 and 5).

Java ``PartialUpdateMergeFunction``. The row of a key starts without values or, if the first version is a retract, with
the values of that version. A -D that removes the row starts a new one with its own values. Only versions after the last
start of a key matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from table_format.counted import counted
from table_format.errors import InvalidData, RetractNotSupported
from table_format.kernels.compiled import Int64Array
from table_format.kernels.engines.outcome import Outcome, Source, check_required, value_columns
from table_format.kernels.engines.sequence_groups import MergeStarts, TracedGroup, last_removals, trace
from table_format.kernels.engines.spec import PartialUpdate
from table_format.kernels.engines.versions import Versions
from table_format.kernels.merge_order import Mask

PARTIAL_UPDATE_REFUSAL: Final = (
    "merge-engine 'partial-update' cannot retract rows by default, and the rows include a -D or -U row; set "
    "'ignore-delete' to 'true' to ignore these rows, 'partial-update.remove-record-on-delete' to 'true' to remove the "
    "row, or define a 'fields.<column>.sequence-group' to retract its columns, with "
    "'partial-update.remove-record-on-sequence-group' to remove the row"
)


def partial_update(versions: Versions, engine: PartialUpdate) -> Outcome:
    """Return the merged row of each key.

    Raises:
        RetractNotSupported: there is a retract, and no option defines its effect.
        InvalidData: a NOT NULL column would be null.
    """
    has_retracts = versions.kinds is not None
    if has_retracts and not (engine.groups or engine.ignore_delete or engine.remove_on_delete):
        raise RetractNotSupported(PARTIAL_UPDATE_REFUSAL)
    present = set(value_columns(versions))
    groups = [trace(versions, g) for g in engine.groups if present & {*g.sequence, *g.members}]
    merge_starts = MergeStarts.of(versions, _removals(versions, engine, groups) if has_retracts else None)
    grouped = {name for g in engine.groups for name in (*g.sequence, *g.members)}
    columns: dict[str, Source] = {}
    for name in sorted(present - grouped):
        _add_free_column(columns, name, versions, engine, merge_starts)
    for group in groups:
        columns.update(group.sources(merge_starts, engine, present))
    check_required(versions, engine.required, columns)
    removed = (merge_starts.is_reset & (merge_starts.base == versions.ends)) | ~versions.has_add
    return Outcome(versions.order[_last_counted(versions, engine)], versions.result_kinds(removed), columns)


def _removals(versions: Versions, engine: PartialUpdate, groups: Iterable[TracedGroup]) -> Int64Array | None:
    if engine.remove_on_delete:
        return versions.last_where(versions.is_delete, versions.starts - 1)
    removing = [group for group in groups if group.group.removes_record]
    return last_removals(versions, removing) if removing else None


def _last_counted(versions: Versions, engine: PartialUpdate) -> Int64Array:
    """Return the version whose sequence number the result has; ignored versions do not count."""
    if versions.kinds is None or not engine.ignore_delete:
        return versions.ends
    last = versions.last_where(~versions.is_retract, versions.starts - 1)
    return np.where(last < 0, versions.ends, last)


def _add_free_column(
    columns: dict[str, Source], name: str, versions: Versions, engine: PartialUpdate, merge_starts: MergeStarts
) -> None:
    """Add a column without a group: the last non-null value of versions that add."""
    valid = versions.valid(name)
    if valid is not None and name in engine.required and not engine.groups:
        _check_adds(versions, name, valid)
    if versions.kinds is None:
        # Without nulls, the value is that of the last version, which is the default.
        if valid is not None:
            columns[name] = versions.row_ids(versions.last_row_where(valid, versions.starts - 1))
        return
    mask = ~versions.is_retract if valid is None else ~versions.is_retract & valid[versions.order]
    found = versions.last_where(mask, merge_starts.floor(versions))
    columns[name] = versions.row_ids(np.where(found < 0, merge_starts.base, found))


def _check_adds(versions: Versions, name: str, valid: Mask) -> None:
    nulls = int((~versions.is_retract & ~valid[versions.order]).sum())
    if nulls:
        message = (
            f"column '{name}' is NOT NULL; {counted(nulls, 'row has', 'rows have')} no value, of "
            f"{counted(versions.order.size, 'row')} to be merged"
        )
        raise InvalidData(message)
