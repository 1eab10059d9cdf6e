"""Executes ALTER TABLE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from table_format.errors import BranchNotFound, InvalidInputError, TagNotFound
from table_format.model.schema_change import SchemaChange
from table_format.procedures.history import missing_first
from table_format.spark.names import Names
from table_format.spark.sql.results import nothing
from table_format.spark.sql.session import SqlSession
from table_format.spark.sql.tables import table_partition
from table_format.sql.alter import (
    AlterStatement,
    AlterTable,
    CreateBranch,
    DeleteBranches,
    DeleteTags,
    DropPartitions,
    RenameBranch,
    RenameTable,
    RenameTag,
    SetTag,
)
from table_format.sql.column_paths import spelled_change
from table_format.sql.reader import SqlName
from table_format.table.facts import TableFacts
from table_format.table.rows.partition_values import partition_spec
from table_format.table.system.partitions import partition_totals
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_alter_statement(session: SqlSession, statement: AlterStatement) -> DataFrame:
    """Change a table. Errors are those of the catalog and the table."""
    name = session.table_name(statement.name)
    match statement:
        case AlterTable(changes=changes):
            session.catalog.alter_table(name, _spelled(session, name, changes))
            session.keep_attached(name)
        case RenameTable(new_name=new_name):
            renamed = _renamed(session, name, new_name)
            session.check_attached(renamed)
            session.catalog.rename_table(name, renamed)
            session.keep_attached(name, renamed)
        case DropPartitions(partitions=partitions, if_exists=if_exists):
            specs = [table_partition(session, name, spec) for spec in partitions]
            _drop_partitions(session.data_table(name), specs, if_exists=if_exists)
        case SetTag():
            _set_tag(session.data_table(name), statement)
        case DeleteTags(tags=tags, if_exists=if_exists):
            table = session.data_table(name)
            for tag in missing_first(tags, table.tags()):
                with suppress(*([TagNotFound] if if_exists else [])):
                    table.delete_tag(tag)
        case RenameTag(tag=tag, new_tag=new_tag):
            session.data_table(name).rename_tag(tag, new_tag)
        case CreateBranch():
            _create_branch(session.data_table(name), statement)
        case DeleteBranches(branches=branches, if_exists=if_exists):
            table = session.data_table(name)
            for branch in missing_first(branches, table.branches()):
                with suppress(*([BranchNotFound] if if_exists else [])):
                    table.delete_branch(branch)
        case RenameBranch(branch=branch, new_branch=new_branch):
            session.data_table(name).rename_branch(branch, new_branch)
    return nothing(session.spark)


def _drop_partitions(table: Table, specs: Sequence[Mapping[str, object]], *, if_exists: bool) -> None:
    if not if_exists:
        _require_partitions(table.facts, specs)
    table.drop_partitions(specs)


def _require_partitions(facts: TableFacts, specs: Sequence[Mapping[str, object]]) -> None:
    present = partition_totals(facts)
    for given in specs:
        spec = partition_spec(facts.schema, given)
        if not any(map(facts.partitions.test((spec,)), present)):
            shown = ", ".join(f"{column}={value}" for column, value in given.items())
            message = f"{facts.name} has no partition {shown}; correct it, or write DROP IF EXISTS PARTITION"
            raise InvalidInputError(message)


def _spelled(session: SqlSession, name: str, changes: Sequence[SchemaChange]) -> Sequence[SchemaChange]:
    if Names.of(session.spark).is_case_sensitive:
        return changes
    fields = session.data_table(name).schema.fields
    return [spelled_change(change, fields) for change in changes]


def _renamed(session: SqlSession, old: str, new: SqlName) -> str:
    # A name without a database stays in the database of the table.
    if len(new.parts) == 1:
        return f"{old.partition('.')[0]}.{new.parts[0]}"
    return session.table_name(new)


def _set_tag(table: Table, statement: SetTag) -> None:
    exists = statement.tag in table.tags()
    if exists and statement.replaces:
        table.replace_tag(statement.tag, statement.snapshot_id, time_retained_ms=statement.retained_ms)
        return
    if not exists and not statement.creates:
        message = f"tag '{statement.tag}' does not exist; use CREATE OR REPLACE TAG"
        raise TagNotFound(message)
    table.create_tag(
        statement.tag,
        statement.snapshot_id,
        time_retained_ms=statement.retained_ms,
        ignore_if_exists=statement.if_not_exists,
    )


def _create_branch(table: Table, statement: CreateBranch) -> None:
    if statement.replaces and statement.branch in table.branches():
        if statement.tag is not None and statement.tag not in table.tags():
            message = f"tag '{statement.tag}' does not exist; branch '{statement.branch}' was not replaced"
            raise TagNotFound(message)
        table.delete_branch(statement.branch)
    table.create_branch(statement.branch, tag=statement.tag, ignore_if_exists=statement.if_not_exists)
