"""``listagg``: texts joined by a delimiter (Java ``FieldListaggAgg`` of 1.4).

Nulls and empty texts count as absent. With ``distinct``, duplicates within the first operand are not removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.aggregates.buffers import Ints, Mask, validity
from table_format.kernels.aggregates.function import AggregateFunction, ColumnTypes
from table_format.kernels.aggregates.segments import Segments, piecewise
from table_format.kernels.aggregates.spec import Action, AggregateSpec
from table_format.model.arrow_calls import binary_join, binary_length, list_array
from table_format.model.types import MAX_LENGTH, DataField, VarCharType


def fold_listagg(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the inputs joined in merge order; with ``distinct``, only the new parts of each input are added."""
    present = validity(segments.values) & (segments.actions != Action.SKIP)
    filled = present & (binary_length(segments.values).fill_null(0).to_numpy() > 0)
    if not spec.distinct:
        return _joined(spec, segments, present, filled)
    several = np.bincount(segments.groups[filled], minlength=segments.count) > 1
    return piecewise(
        segments,
        several,
        lambda s: _joined(spec, s, *_kept(present, filled, segments, several, s)),
        lambda s: pa.array(_distinct(spec, s), segments.values.type),
    )


def _kept(present: Mask, filled: Mask, whole: Segments, several: Mask, part: Segments) -> tuple[Mask, Mask]:
    rows = slice(None) if part is whole else ~several[whole.groups]
    return present[rows], filled[rows]


def _joined(spec: AggregateSpec, segments: Segments, present: Mask, filled: Mask) -> pa.Array:
    rows = np.flatnonzero(filled)
    late = segments.actions[rows] == Action.REVERSED
    if late.any():
        rows = _older_first(rows, late, segments.groups[rows])
    sizes = np.bincount(segments.groups[rows], minlength=segments.count)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int32)
    absent = ~segments.any_of(present)
    mask = pa.array(absent) if absent.any() else None
    lists = list_array(pa.array(offsets), segments.values.take(rows), mask=mask)
    return binary_join(lists, spec.delimiter)


def _older_first(rows: Ints, late: Mask, groups: Ints) -> Ints:
    """Return the rows reordered so that each late value precedes all earlier ones."""
    place: npt.NDArray[np.int64] = np.where(late, -rows - 1, rows)
    return rows[np.lexsort((place, groups))]


def _distinct(spec: AggregateSpec, segments: Segments) -> list[str | None]:
    values, actions = segments.values.to_pylist(), segments.actions.tolist()
    results: list[str | None] = []
    for start, length in zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True):
        text: str | None = None
        for row in range(start, start + length):
            if actions[row] == Action.AGG:
                text = _appended(text, values[row], spec.delimiter)
            elif actions[row] == Action.REVERSED:
                text = _appended(values[row], text, spec.delimiter)
        results.append(text)
    return results


def _appended(text: str | None, more: str | None, delimiter: str) -> str | None:
    if text is None or more is None:
        return more if text is None else text
    if not more or not text:
        return text or more
    # Without a delimiter, the reference splits at blanks.
    separator = delimiter or " "
    seen = set(text.split(separator))
    pieces = [text]
    for part in more.split(separator):
        if part and part not in seen:
            seen.add(part)
            pieces.append(part)
    return delimiter.join(pieces)


def _without_length(field: DataField) -> DataField:
    """Return the field as STRING: tables of releases before 2.0 may use a VARCHAR with a length, which is ignored."""
    if not isinstance(field.type, VarCharType):
        return field
    return replace(field, type=VarCharType(nullable=field.type.nullable))


LISTAGG: Final = AggregateFunction(
    "listagg",
    fold_listagg,
    ColumnTypes("STRING (VARCHAR without a length)", lambda t: isinstance(t, VarCharType) and t.length == MAX_LENGTH),
    "all values, joined with `fields.<column>.list-agg-delimiter`; with `fields.<column>.distinct`, each part once",
    folds=ColumnTypes("VARCHAR", lambda t: isinstance(t, VarCharType)),
    folded_field=_without_length,
)
