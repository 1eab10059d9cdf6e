"""Refuses -U and -D rows that the merge engine cannot merge, when they are written.

The reference detects a refused row only when it is merged with another row of its key, which may be long after the
commit. From then on, the key cannot be read any more (format chapter 12, section 1).
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import RetractNotSupported
from table_format.kernels.aggregates import Action, AggregateSpec, fold
from table_format.kernels.engines import (
    FIRST_ROW_REFUSAL,
    PARTIAL_UPDATE_REFUSAL,
    Aggregation,
    Engine,
    FirstRow,
    PartialUpdate,
    SequenceGroup,
)
from table_format.lsm.runs import is_add
from table_format.model.arrow_calls import equal, not_equal, nulls
from table_format.model.arrow_types import arrow_type
from table_format.model.row_kind import RowKind
from table_format.model.schema import VALUE_KIND


def check_retracts(batch: pa.RecordBatch, engine: Engine) -> None:
    """Refuse retract rows that the engine does not support, according to the column ``_VALUE_KIND``.

    Raises:
        RetractNotSupported: a row is refused; the message names the options that would help.
    """
    kinds = batch.column(VALUE_KIND.name)
    retracts = pc.invert(is_add(kinds))
    if not pc.any(retracts).as_py():
        return
    match engine:
        case FirstRow():
            raise RetractNotSupported(FIRST_ROW_REFUSAL)
        case Aggregation(aggregates=aggregates, remove_on_delete=removes):
            # A -D that removes the record does not call a function.
            if not removes or pc.any(equal(kinds, RowKind.UPDATE_BEFORE.value)).as_py():
                _check_functions(aggregates)
        case PartialUpdate(groups=(), remove_on_delete=False):
            raise RetractNotSupported(PARTIAL_UPDATE_REFUSAL)
        case PartialUpdate(groups=groups, aggregates=aggregates):
            for group in groups:
                if pc.any(pc.and_(retracts, _needs_retraction(batch, kinds, group))).as_py():
                    _check_functions(tuple(spec for spec in aggregates if spec.field.name in group.members))


def _needs_retraction(batch: pa.RecordBatch, kinds: pa.Array, group: SequenceGroup) -> pa.BooleanArray:
    """Return the rows with a sequence value in the group for which the functions of the group are called.

    Most -D rows do not call a function if the group removes the record.
    """
    has_sequence = reduce(pc.or_, (pc.is_valid(batch.column(name)) for name in group.sequence))
    if group.removes_record:
        return pc.and_(has_sequence, not_equal(kinds, RowKind.DELETE.value))
    return has_sequence


def _check_functions(aggregates: tuple[AggregateSpec, ...]) -> None:
    for spec in aggregates:
        # A function without support for retractions refuses any value.
        fold(spec, nulls(1, arrow_type(spec.field.type)), np.zeros(1, np.int64), np.array([Action.RETRACT], np.int8))
