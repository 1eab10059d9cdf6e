"""Dagster's migrations of its database. Each new instance loads them three times, which is most of what it costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from alembic.config import Config
from alembic.script import ScriptDirectory


@cache
def load_migrations_once() -> None:
    """Let all instances of this process share the migrations: files of Dagster that do not change."""
    ScriptDirectory.from_config = _once(ScriptDirectory.from_config)  # type: ignore[method-assign]


def _once(load: Callable[[Config], ScriptDirectory]) -> Callable[[Config], ScriptDirectory]:
    loaded: dict[tuple[str | None, str | None], ScriptDirectory] = {}

    def kept(config: Config) -> ScriptDirectory:
        place = (config.get_main_option("script_location"), config.get_main_option("version_locations"))
        if place not in loaded:
            loaded[place] = load(config)
        return loaded[place]

    return kept
