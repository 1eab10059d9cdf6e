"""Chooses the placement of a write, by the bucket mode of the table and by who assigns buckets."""

from __future__ import annotations

from typing import assert_never

from table_format.errors import InvalidInputError
from table_format.extras import require
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware
from table_format.table.facts import TableFacts
from table_format.table.placement.assigners import Assignment, GivenBuckets, WritingAssigner
from table_format.table.placement.dynamic_placement import DynamicPlacement, GivenDynamicPlacement
from table_format.table.placement.given import GivenPlacement
from table_format.table.placement.placement import Placement
from table_format.table.placement.stateless import StatelessPlacement


def placement_of(facts: TableFacts, *, replacing: bool = False, assignment: Assignment | None = None) -> Placement:
    """Return how a writer places rows. ``replacing`` ignores the current rows, for an overwrite.

    ``assignment`` says how several tasks share the work. Without it, the writer gets all rows.

    Raises:
        InvalidInputError: the bucket mode of the table does not allow this assignment.
    """
    mode = facts.bucket_mode
    match mode:
        case Fixed() | Unaware() | Postponed():
            if assignment is not None:
                raise _unfit(facts, assignment)
            return StatelessPlacement(facts)
        case Dynamic():
            if isinstance(assignment, GivenBuckets):
                return GivenDynamicPlacement(facts, assignment, replacing=replacing)
            return DynamicPlacement(facts, replacing=replacing, assigner=assignment)
        case CrossPartition():
            if isinstance(assignment, WritingAssigner):
                raise _unfit(facts, assignment)
            if assignment is not None:
                return GivenPlacement(facts, assignment, replacing=replacing)
            return _cross_partition(facts, replacing=replacing)
    assert_never(mode)


def _cross_partition(facts: TableFacts, *, replacing: bool) -> Placement:
    # Here, because only such tables need DuckDB.
    require("duckdb")
    from table_format.table.placement.cross_partition import CrossPartitionPlacement

    return CrossPartitionPlacement(facts, replacing=replacing)


def _unfit(facts: TableFacts, assignment: Assignment) -> InvalidInputError:
    message = f"{facts.name} has the bucket mode {facts.bucket_mode}, which does not allow {type(assignment).__name__}"
    return InvalidInputError(message)
