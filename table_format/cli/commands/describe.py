"""The command ``describe``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime

import click
from rich.table import Table as Grid
from rich.text import Text

from table_format import FormatTable, Table, TableSchema
from table_format.cli.arguments import table_argument
from table_format.cli.output import print_grid, stdout_console
from table_format.cli.session import Session
from table_format.cli.values import shown
from table_format.secrets import shown_options


@click.command()
@table_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def describe(session: Session, table: str, *, as_json: bool) -> None:
    """Show columns, keys, options and the latest snapshot of a table."""
    found = session.table(table)
    if isinstance(found, FormatTable):
        _describe_files(found, as_json=as_json)
        return
    opened = session.data_table(table)
    # The system table masks secrets.
    stored = (batch.to_pydict() for batch in session.reading(f"{table}$options").to_batches())
    options = {key: value for part in stored for key, value in zip(part["key"], part["value"], strict=True)}
    if as_json:
        click.echo(json.dumps(_described(opened, options), ensure_ascii=False))
    else:
        _show(opened, options)


def _described(table: Table, options: dict[str, str]) -> dict[str, object]:
    schema, snapshot = table.schema, table.latest_snapshot()
    latest = None
    if snapshot is not None:
        made = _time(snapshot.time_millis)
        latest = {"id": snapshot.id, "kind": snapshot.commit_kind, "time": made, "rows": snapshot.total_record_count}
    return {
        "table": str(table.identifier),
        "comment": schema.comment,
        "schema": schema.id,
        "columns": _columns(schema),
        "primary_key": list(schema.primary_keys),
        "partition_by": list(schema.partition_keys),
        "options": options,
        "snapshot": latest,
    }


def _describe_files(table: FormatTable, *, as_json: bool) -> None:
    schema, options = table.schema, shown_options(table.schema.options)
    if as_json:
        described = {
            "table": str(table.identifier),
            "comment": schema.comment,
            "location": table.location,
            "columns": _columns(schema),
            "partition_by": list(schema.partition_keys),
            "options": options,
        }
        click.echo(json.dumps(described, ensure_ascii=False))
        return
    facts = [("table", str(table.identifier)), ("comment", schema.comment or ""), ("location", table.location)]
    facts += [("partition by", ", ".join(schema.partition_keys)), ("files", table.options.file_format)]
    _print_section((name, text) for name, text in facts if text)
    _show_columns(schema, options)


def _columns(schema: TableSchema) -> list[dict[str, str | None]]:
    return [{"name": f.name, "type": str(f.type), "comment": f.description} for f in schema.fields]


def _show(table: Table, options: dict[str, str]) -> None:
    _print_section(_facts(table))
    _show_columns(table.schema, options)


def _show_columns(schema: TableSchema, options: dict[str, str]) -> None:
    click.echo("columns")
    _print_section((f"  {f.name}", str(f.type), f.description or "") for f in schema.fields)
    if options:
        click.echo("options")
        _print_section((f"  {key}", value) for key, value in sorted(options.items()))


def _print_section(rows: Iterable[tuple[str, ...]]) -> None:
    grid = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        grid.add_row(*(Text(shown(text)) for text in row))
    print_grid(stdout_console(), grid)


def _facts(table: Table) -> Iterator[tuple[str, str]]:
    schema, snapshot = table.schema, table.latest_snapshot()
    yield "table", str(table.identifier)
    if schema.comment:
        yield "comment", schema.comment
    yield "schema", str(schema.id)
    if schema.primary_keys:
        yield "primary key", ", ".join(schema.primary_keys)
    if schema.partition_keys:
        yield "partition by", ", ".join(schema.partition_keys)
    if snapshot is None:
        yield "snapshot", "none; the table is empty"
    else:
        yield "snapshot", f"{snapshot.id} ({snapshot.commit_kind}, {_time(snapshot.time_millis)})"
        yield "stored rows", f"{snapshot.total_record_count}, before merging"


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().isoformat(sep=" ", timespec="seconds")
