"""The configuration of a merge engine for the columns of a table, as frozen facts that can be pickled.

``deduplicate`` needs none, because it keeps the last version unchanged (format chapter 12, section 2).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.kernels.aggregates import AggregateSpec

_KEEPS_ANY: Final = frozenset(
    (
        *("sum", "product", "max", "min", "bool_and", "bool_or", "merge_map"),
        *("last_value", "last_non_null_value", "first_value", "first_non_null_value", "first_not_null_value"),
        *("rbm32", "rbm64", "theta_sketch", "hll_sketch"),
    )
)
"""The functions whose result of one value is this value, with any options."""

_KEEPS_PLAIN: Final = frozenset(("listagg", "collect", "nested_update"))
"""The functions of which this is true without ``distinct`` and ``nested-key``."""


@dataclass(frozen=True, slots=True)
class FirstRow:
    """Keeps the first version (Java ``FirstRowMergeFunction``)."""

    ignore_delete: bool = False


@dataclass(frozen=True, slots=True)
class SequenceGroup:
    """Columns of a partial update that change together if the tuple of their sequence columns is not smaller.

    If ``removes_record``, a -D that is not older removes the whole row.
    """

    sequence: tuple[str, ...]
    members: tuple[str, ...]
    removes_record: bool = False


@dataclass(frozen=True, slots=True)
class PartialUpdate:
    """Takes each column from the newest version in which it is not null (Java ``PartialUpdateMergeFunction``).

    ``aggregates`` are functions of columns of the groups; ``required`` are the NOT NULL columns.
    """

    groups: tuple[SequenceGroup, ...] = ()
    aggregates: tuple[AggregateSpec, ...] = ()
    ignore_delete: bool = False
    remove_on_delete: bool = False
    required: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Folds every column with a function (Java ``AggregateMergeFunction``); columns without one are key columns."""

    aggregates: tuple[AggregateSpec, ...] = ()
    remove_on_delete: bool = False
    required: frozenset[str] = frozenset()

    @property
    def keeps_single_adds(self) -> bool:
        """Whether the result of a single version that adds is certainly this version."""
        return all(
            spec.function in _KEEPS_ANY or (spec.function in _KEEPS_PLAIN and not (spec.distinct or spec.nested_key))
            for spec in self.aggregates
        )


Engine: TypeAlias = FirstRow | PartialUpdate | Aggregation


def needed_columns(engine: Engine | None, wanted: Collection[str], *, may_delete: bool) -> tuple[str, ...]:
    """Return the columns that are needed to merge the wanted ones, or to recognise removed rows.

    >>> engine = PartialUpdate((SequenceGroup(("g",), ("a", "b")), SequenceGroup(("h",), ("c",))))
    >>> needed_columns(engine, ["k", "b"], may_delete=False)
    ('g',)
    """
    if not isinstance(engine, PartialUpdate):
        return ()
    return tuple(
        name
        for group in engine.groups
        if not {*group.sequence, *group.members}.isdisjoint(wanted) or (may_delete and group.removes_record)
        for name in group.sequence
    )
