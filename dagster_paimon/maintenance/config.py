"""The common configuration of maintenance jobs: tables, partitions and dry runs.

``known_tables`` returns a configuration for which the launchpad completes table names from a list.
"""
# No postponed annotations here: Dagster inspects the types of configurations.

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Any, TypeVar

import dagster as dg
from pydantic import Field, create_model

_TABLE = "database.table, or a pattern such as shop.*"
_TABLES = "Several tables or patterns, processed one by one in this run."
_MISSING = "Leave out tables that do not exist, such as those dropped since the run was requested, instead of failing."
_PATTERN = "All tables whose name matches, such as shop.*; * means every table."


class TablesConfig(dg.Config):
    """The tables. Set at least one of ``table``, ``tables`` and ``pattern``; they are combined."""

    table: str | None = Field(default=None, description=_TABLE)
    tables: list[str] = Field(default_factory=list, description=_TABLES)
    pattern: str | None = Field(default=None, description=_PATTERN)
    skip_missing: bool = Field(default=False, description=_MISSING)

    @property
    def named_tables(self) -> tuple[str, ...]:
        """All names and patterns, each once."""
        single = [str(name) for name in (self.table, self.pattern) if name]
        return tuple(dict.fromkeys([*single[:1], *map(str, self.tables), *single[1:]]))


class PartitionsConfig(TablesConfig):
    """The tables, and their partitions."""

    partitions: list[dict[str, str]] = Field(
        default_factory=list, description="Only these partitions, each by values of partition columns; by default all."
    )


class DeletingConfig(TablesConfig):
    """The tables, and whether to delete something."""

    dry_run: bool = Field(
        default=True, description="Only report what would be deleted. Nothing is deleted unless this is false."
    )


ConfigT = TypeVar("ConfigT", bound=TablesConfig)


def known_tables(config: type[ConfigT], names: Sequence[str]) -> type[ConfigT]:
    """Return the configuration with ``table`` and ``tables`` limited to some names, or unchanged without names."""
    if not names:
        return config
    # Dagster caches configuration types by name, so another list of tables needs another name.
    digest = sha256("\n".join(names).encode()).hexdigest()
    known = StrEnum(f"KnownTable_{digest[:8]}", {name: name for name in names})  # type: ignore[misc]  # the names are known at run time only
    fields: dict[str, Any] = {
        "table": (known | None, Field(default=None, description="database.table")),
        "tables": (list[known], Field(default_factory=list, description=_TABLES)),
    }
    made: type[ConfigT] = create_model(config.__name__, __base__=config, __doc__=config.__doc__, **fields)
    return made
