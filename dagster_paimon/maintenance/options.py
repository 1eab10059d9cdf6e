"""Sets options of a table, or resets them to their defaults."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.config import TablesConfig
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.reporting.metadata import markdown_lines
from table_format import RemoveOption, SchemaChange, SetOption, Table
from table_format.errors import InvalidInputError
from table_format.secrets import shown_option


class OptionsConfig(TablesConfig):
    """The tables and the options."""

    set: dict[str, str] = Field(default_factory=dict, description="Options and their new values.")
    reset: list[str] = Field(default_factory=list, description="Options to reset to their defaults.")


def alter_options_of_one(visit: Visit, config: OptionsConfig) -> Outcome:
    """Change options of one table. Existing files stay unchanged."""
    before = visit.table().schema.options
    changes: list[SchemaChange] = [SetOption(key, value) for key, value in config.set.items()]
    changes += [RemoveOption(key) for key in config.reset]
    visit.lakehouse.catalog().alter_table(visit.name, changes)
    now = visit.table().schema
    keys = [*config.set, *config.reset]
    changed = [key for key in keys if before.get(key) != now.options.get(key)]
    head = ("| option | before | after |", "|:--|:--|:--|")
    lines = (f"| {key} | {_shown(key, before.get(key))} | {_shown(key, now.options.get(key))} |" for key in keys)
    return Outcome(
        title="options",
        summary=f"schema {now.id} has other values of {', '.join(changed)}"
        if changed
        else "all options already had these values",
        metadata={"paimon/schema_id": now.id, "options": markdown_lines(head, lines)},
    )


def _shown(key: str, value: str | None) -> str:
    return "default" if value is None else shown_option(key, value)


def _check(table: Table, config: OptionsConfig) -> None:
    if not config.set and not config.reset:
        message = f"{table.identifier}: no option is given; set 'set' or 'reset'"
        raise InvalidInputError(message)
    both = sorted(set(config.set) & set(config.reset))
    if both:
        message = f"{table.identifier}: {', '.join(both)}: an option can be set or reset, not both"
        raise InvalidInputError(message)


ALTER_OPTIONS: Final = Maintenance(
    job="alter_options",
    op="alter",
    description="Set options of a table, or reset them to their defaults.",
    config=OptionsConfig,
    work=alter_options_of_one,
    check=_check,
    measured=False,
)
