"""A clock that tests set, executors that run compactions when a test starts them, and checks of the results."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from table_format import Table
from tests.support.deletion_marks import live

HOUR_MS = 3_600_000
MINUTE_MS = 60_000


class MovableClock:
    """Time that passes when a test says so, or somebody waits; local time is UTC."""

    def __init__(self, hour: int = 12) -> None:
        self.ms = 1_800_000_000_000 // (24 * HOUR_MS) * 24 * HOUR_MS + hour * HOUR_MS

    def now_ms(self) -> int:
        return self.ms

    local_now_ms = monotonic_ms = now_ms

    def sleep_ms(self, duration_ms: int) -> None:
        self.ms += duration_ms


class AtOnce(Executor):
    """Does all work when it is handed over."""

    def __init__(self) -> None:
        self.done = 0

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.done += 1
        try:
            future.set_result(work(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - what an executor does
            future.set_exception(error)
        return future


class OnDemand(Executor):
    """Keeps work until it is told to do some of it, or somebody waits for it."""

    def __init__(self) -> None:
        self.waiting: list[_Work] = []

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        made = _Work(lambda: work(*args, **kwargs))
        self.waiting.append(made)
        return made

    def run(self) -> int:
        """Do all that waits; how much it was."""
        waiting, self.waiting = self.waiting, []
        for work in waiting:
            work.run()
        return len(waiting)


class _Work(Future[Any]):
    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work

    def run(self) -> None:
        if not self.done() and self.set_running_or_notify_cancel():
            try:
                self.set_result(self._work())
            except Exception as error:  # noqa: BLE001 - what an executor does
                self.set_exception(error)

    def result(self, timeout: float | None = None) -> Any:
        self.run()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.run()
        return super().exception(timeout)


def kinds(table: Table) -> str:
    """The kinds of all snapshots, by their first letters."""
    return "".join(snapshot.commit_kind.value[0] for snapshot in table.snapshots())


def levels(table: Table) -> list[int]:
    """The levels of the live files."""
    return sorted(entry.file.level for entry in live(table))


def data_files(table: Table, files: list[str]) -> tuple[set[str], set[str]]:
    """The data and index files that retained snapshots name, and those that exist."""
    named: set[str] = set()
    for snapshot in table.snapshots():
        manifests = table.facts.manifests
        entries = [e for manifest in manifests.data_manifests(snapshot) for e in manifests.read(manifest)]
        entries += [e for manifest in manifests.changelog_manifests(snapshot) for e in manifests.read(manifest)]
        named |= {entry.file.file_name for entry in entries}
        named |= {entry.index_file.file_name for entry in manifests.index_entries(snapshot)}
    found = {name.rpartition("/")[2] for name in files if "bucket-" in name or name.startswith("index/")}
    return named, found
