"""Finds runs whose process has ended together with the server that watched it.

A code server watches the processes of its runs and reports one that dies. If both are killed, or their machine stops,
nobody reports it: the run counts as started forever, keeps its slots and holds up its table and the queue. Only runs of
Dagster's default launcher on this machine are examined; other launchers watch their runs.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import dagster as dg

_SERVER_TAG: Final = ".dagster/grpc_info"
"""The tag with the address of the code server of a run; for a server on the same machine it is a socket."""

_STARTED: Final = re.compile(r"Started process for run \(pid: (\d+)\)")
_SECONDS_TO_ANSWER: Final = 5.0
_CLOCKS_DIFFER: Final = 60.0
"""Seconds by which the start of a process may be later than the event that reports it."""


@dataclass(frozen=True, slots=True)
class Started:
    """Started runs of this machine: those that may be at work, and those whose process is gone."""

    here: tuple[str, ...]
    lost: tuple[dg.DagsterRun, ...]


def started_runs(instance: dg.DagsterInstance, seen: Collection[str]) -> Started:
    """Return the started runs of this machine. ``seen`` are those of the last tick, whose server was here then."""
    here: list[str] = []
    lost: list[dg.DagsterRun] = []
    for run in instance.get_runs(filters=dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
        server = _server_of(run)
        if server is None:
            continue
        if _is_listening(server):
            here.append(run.run_id)
        elif run.run_id in seen or Path(server).exists():
            here.append(run.run_id)
            if _has_ended(instance, run.run_id):
                lost.append(run)
    return Started(tuple(here), tuple(lost))


def fail_lost_runs(instance: dg.DagsterInstance, started: Started) -> Iterator[str]:
    """Mark lost runs as failed, so that Dagster frees their slots and retries them. Yield a note for each."""
    for run in started.lost:
        note = f"run {run.run_id[:8]} has failed: its process ended together with the code server that watched it"
        instance.report_run_failed(run, f"{note[0].upper()}{note[1:]}. What it has committed stays.")
        yield note


def living_process(instance: dg.DagsterInstance, run: dg.DagsterRun) -> int | None:
    """Return the process of a run that goes on although Dagster counts the run as ended; ``None`` if none is known.

    A run that is terminated by force is not asked whether it has ended.
    """
    started = _process_of(instance, run.run_id) if _server_of(run) is not None else None
    return started[0] if started is not None and _is_alive(started[0], since=started[1]) else None


def _server_of(run: dg.DagsterRun) -> str | None:
    with suppress(ValueError, AttributeError):
        found = json.loads(run.tags.get(_SERVER_TAG, "{}")).get("socket")
        return found if isinstance(found, str) else None
    return None


def _is_listening(path: str) -> bool:
    """Return whether a server listens at a socket; true if this is not known."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_SECONDS_TO_ANSWER)
        try:
            client.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:
            return True
    return True


def _has_ended(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Return whether the process of a run has ended, although the run has not."""
    started = _process_of(instance, run_id)
    if started is None or _is_alive(started[0], since=started[1]):
        return False
    # A run reports its end before its process ends.
    now = instance.get_run_by_id(run_id)
    return now is not None and now.status is dg.DagsterRunStatus.STARTED


def _process_of(instance: dg.DagsterInstance, run_id: str) -> tuple[int, float] | None:
    """Return the process of a run and when it was started, in epoch seconds."""
    events = instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)
    found = [(int(started[1]), event.timestamp) for event in events if (started := _STARTED.search(event.message))]
    return found[-1] if found else None


def _is_alive(process: int, *, since: float) -> bool:
    """Return whether a process is alive. One that began later has taken over the number of another one."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    began = _began(process)
    return began is None or began <= since + _CLOCKS_DIFFER


def _began(process: int) -> float | None:
    """Return when a process began, in epoch seconds; ``None`` if the system does not tell."""
    try:
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
        (boot,) = re.findall(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.MULTILINE)
        return int(boot) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
