"""Makes Dagster's database quick in tests: each new instance loads its migrations three times, which is most of what it
costs, and each commit waits for the disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache
from typing import Any

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import event
from sqlalchemy.engine import Engine


@cache
def load_migrations_once() -> None:
    """Let all instances of this process share the migrations: files of Dagster that do not change."""
    ScriptDirectory.from_config = _once(ScriptDirectory.from_config)  # type: ignore[method-assign]


@cache
def commit_without_disk() -> None:
    """Let SQLite leave the writing to the system, as all else in tests does (``tests/conftest.py``)."""
    event.listen(Engine, "connect", _leave_writing_to_the_system)


def _leave_writing_to_the_system(connection: Any, _record: object) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


def _once(load: Callable[[Config], ScriptDirectory]) -> Callable[[Config], ScriptDirectory]:
    loaded: dict[tuple[str | None, str | None], ScriptDirectory] = {}

    def kept(config: Config) -> ScriptDirectory:
        place = (config.get_main_option("script_location"), config.get_main_option("version_locations"))
        if place not in loaded:
            loaded[place] = load(config)
        return loaded[place]

    return kept
