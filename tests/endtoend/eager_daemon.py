"""Dagster's daemon with shorter pauses: ``python -m tests.endtoend.eager_daemon run -w WORKSPACE``.

Most of an end to end run would otherwise be pauses: the daemon looks at backfills and asks sensors every half minute.
It also starts another code server every minute, for code that may have changed. Both are constants of Dagster.
"""

from __future__ import annotations

from typing import Final

from dagster._core.remote_representation.external import RemoteSensor
from dagster._daemon import asset_daemon, controller, sensor
from dagster._daemon.cli import main

PAUSE: Final = 5
"""Seconds between two looks at backfills and sensors."""

_NEVER: Final = 3600
"""Seconds after which the daemon loads the code again; longer than a run."""


def shorten_pauses() -> None:
    """Shorten the pauses of the daemon of this process."""
    controller.DEFAULT_DAEMON_INTERVAL_SECONDS = PAUSE
    controller.RELOAD_WORKSPACE_INTERVAL = _NEVER
    controller.DEFAULT_WORKSPACE_FRESHNESS_TOLERANCE = 2 * _NEVER
    sensor.MIN_INTERVAL_LOOP_TIME = asset_daemon.MIN_INTERVAL_LOOP_SECONDS = PAUSE
    RemoteSensor.min_interval_seconds = property(lambda _: PAUSE)  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    shorten_pauses()
    main()
