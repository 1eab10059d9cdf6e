"""``aggregation``: every column is folded with its function (format chapter 12, section 6).

Java ``AggregateMergeFunction``: -U and -D both retract, unless a -D removes the record. Its values are then the result,
to which later versions are added. If no version retracts, functions that choose a version return row ids, so that
values are copied only once.
"""

from __future__ import annotations

import numpy as np

from table_format.kernels.aggregates import Action, AggregateSpec, fold
from table_format.kernels.engines.outcome import Outcome, Source, check_required
from table_format.kernels.engines.spec import Aggregation
from table_format.kernels.engines.versions import Versions


def aggregation(versions: Versions, engine: Aggregation) -> Outcome:
    """Return the folded row of each key, with the sequence number of its last version.

    Raises:
        RetractNotSupported: there is a retract, and the function of a column cannot retract.
        InvalidData: a NOT NULL column would be null.
    """
    actions = np.where(versions.is_retract, Action.RETRACT, Action.AGG).astype(np.int8)
    removed = np.zeros(versions.starts.size, dtype=bool)
    if engine.remove_on_delete and versions.kinds is not None:
        actions[versions.is_delete] = Action.RESET
        removed = versions.is_delete[versions.ends]
    last = versions.order[versions.ends]
    present = versions.rows.schema.names
    columns: dict[str, Source] = {}
    for spec in engine.aggregates:
        name = spec.field.name
        if name in present:
            chosen = _chosen(versions, spec, last) if versions.kinds is None else None
            columns[name] = fold(spec, versions.values(name), versions.starts, actions) if chosen is None else chosen
    check_required(versions, engine.required, columns)
    return Outcome(last, versions.result_kinds(removed), columns)


def _chosen(versions: Versions, spec: AggregateSpec, last: Source) -> Source | None:
    """Return the rows whose values a choosing function takes if every version adds; ``None`` for other functions."""
    match spec.function:
        case "last_value":
            return last
        case "last_non_null_value":
            valid = versions.valid(spec.field.name)
            if valid is None:
                return last
            return versions.row_ids(versions.last_row_where(valid, versions.starts - 1))
        case "first_value":
            return versions.order[versions.starts]
        case _:
            return None
