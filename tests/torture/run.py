"""One table under signals: starts the processes, strikes them, restarts those that died, and judges at the end."""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from table_format import load_catalog
from tests.races.processes import Worker
from tests.torture import actors, follow, rewind
from tests.torture.actors import Place
from tests.torture.jobs import FIRST_STREAM
from tests.torture.kinds import Kind
from tests.torture.observer import Findings, Observer

WRITERS: Final = 3
STREAMS: Final = 2
STRIKES: Final = (signal.SIGKILL, signal.SIGINT, signal.SIGSTOP)
_WEIGHTS: Final = (5, 5, 2)
LONGEST_START_S: Final = 60.0
LONGEST_STOP_S: Final = 3.0
"""Below the slack of the retain floor of ``kinds``."""


@dataclass(slots=True)
class Outcome:
    """What one table went through."""

    kind: str
    findings: Findings
    strikes: Counter[str] = field(default_factory=Counter)
    reports: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[int, int] = field(default_factory=dict)

    @property
    def acknowledged_jobs(self) -> int:
        """Jobs whose commit returned to its caller."""
        return sum(self.acknowledged.values())


class Role:
    """One actor through all its lives."""

    def __init__(self, outcome: Outcome, observer: Observer, start: Callable[[int], Worker]) -> None:
        self._outcome = outcome
        self._observer = observer
        self._start = start
        self._life = 0
        self._stopped_until = 0.0
        self._worker = start(0)
        self._began = False

    @property
    def is_at_work(self) -> bool:
        """Whether the process has started."""
        return self._began

    def listen(self) -> None:
        """Take in what the process reports; start it again when it is dead."""
        try:
            while (found := self._worker.report_now()) is not None:
                self._take(*found)
        except EOFError:
            if (number := self._worker.killed_by()) not in (None, signal.SIGKILL):
                self._outcome.findings.report("crashed", f"{self._outcome.kind}: a process died of signal {number}")
            self._life += 1
            self._worker = self._start(self._life)
            self._began = False
        if self._stopped_until and time.monotonic() >= self._stopped_until:
            self._worker.send_signal(signal.SIGCONT)
            self._stopped_until = 0.0

    def strike(self, rng: random.Random) -> None:
        """Kill, interrupt or stop the process, if it is at work."""
        if not self._began or self._stopped_until:
            return
        chosen = rng.choices(STRIKES, _WEIGHTS)[0]
        self._outcome.strikes[chosen.name] += 1
        if chosen is signal.SIGSTOP:
            self._stopped_until = time.monotonic() + rng.random() ** 2 * LONGEST_STOP_S
        self._worker.send_signal(chosen)
        if chosen is signal.SIGKILL:
            self._began = False

    def end(self) -> None:
        """Kill the process and take in what it has still said."""
        self._worker.kill()
        for found in self._worker.reports():
            assert isinstance(found, tuple)
            self._take(*found)

    def _take(self, what: str, detail: object) -> None:
        self._outcome.reports[what if what != "refused" else f"refused: {detail}"] += 1
        if what == "began":
            self._began = True
        elif what == "acknowledged":
            assert isinstance(detail, tuple)
            who, number = detail
            self._outcome.acknowledged[who] = max(number, self._outcome.acknowledged.get(who, 0))
        elif what == "claimed":
            self._observer.claims.append(detail)
        elif what == "failed":
            self._outcome.findings.report("failed", f"{self._outcome.kind}: {detail}")


def torture(kind: Kind, seconds: float, seed: int, directory: Path, *, pause_s: float = 0.1) -> Outcome:
    """Write, look after and read one table for so long, under signals; then judge it."""
    rng = random.Random(seed)
    catalog = load_catalog({"warehouse": str(directory / "lake")})
    catalog.create_database("db", ignore_if_exists=True)
    catalog.create_table("db.t", kind.schema())
    outcome = Outcome(kind.name, Findings())
    observer = Observer(kind, Place(str(directory), kind.name, seed), outcome.findings)
    stop = threading.Event()
    following = threading.Thread(target=_follow, args=(observer, stop, outcome.findings))
    following.start()
    roles = _roles(kind, directory, seed, outcome, observer)
    _wait_until_at_work(roles)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for role in roles:
            role.listen()
        rng.choice(roles).strike(rng)
        time.sleep(rng.random() * 2 * pause_s)
    for role in roles:
        role.end()
    stop.set()
    following.join()
    try:
        rewind.complete(Place(str(directory), kind.name, seed))
        observer.follow()
        observer.finish(outcome.acknowledged)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other tables are judged as well
        outcome.findings.report("unreadable", f"{kind.name}, at the end: {type(error).__name__}: {error}")
    return outcome


def _wait_until_at_work(roles: list[Role]) -> None:
    """On a busy machine, many processes need longer to start than a short run takes."""
    end = time.monotonic() + LONGEST_START_S
    while time.monotonic() < end and not all(role.is_at_work for role in roles):
        for role in roles:
            role.listen()
        time.sleep(0.05)


def _roles(kind: Kind, directory: Path, seed: int, outcome: Outcome, observer: Observer) -> list[Role]:
    def place(number: int, life: int) -> Place:
        return Place(str(directory), kind.name, (seed * 1_000 + number) * 100_000 + life)

    def writer(who: int, target: Callable[..., None] = actors.write) -> Callable[[int], Worker]:
        def start(life: int) -> Worker:
            return Worker(target, place(who, life), who, outcome.acknowledged.get(who, 0) + 1)

        return start

    def other(number: int, target: Callable[..., None]) -> Callable[[int], Worker]:
        return lambda life: Worker(target, place(number, life))

    others = (
        *(actors.compact, actors.keep_history, actors.change_schema, actors.read),
        *(rewind.rewind, follow.follow),
    )
    starts = [writer(who) for who in range(1, WRITERS + 1)]
    starts += [writer(FIRST_STREAM + number, actors.stream) for number in range(STREAMS)]
    starts += [other(WRITERS + 1 + number, target) for number, target in enumerate(others)]
    return [Role(outcome, observer, start) for start in starts]


def _follow(observer: Observer, stop: threading.Event, findings: Findings) -> None:
    try:
        while not stop.is_set():
            if not observer.follow():
                stop.wait(0.05)
    except Exception as error:  # noqa: BLE001 - the thread must not end in silence
        findings.report("unreadable", f"the observer ended: {type(error).__name__}: {error}")


def torture_all(kinds: tuple[Kind, ...], seconds: float, seed: int, *, pause_s: float = 0.1) -> list[Outcome]:
    """Torture each kind for its share of the time; a table with a finding is kept on disk."""
    outcomes: list[Outcome] = []
    for number, kind in enumerate(kinds):
        directory = Path(tempfile.mkdtemp(prefix=f"torture-{kind.name}-"))
        outcome = torture(kind, seconds / len(kinds), seed + number, directory, pause_s=pause_s)
        outcomes.append(outcome)
        _print(outcome, directory)
        if not outcome.findings.wrong:
            shutil.rmtree(directory, ignore_errors=True)
    return outcomes


def _print(outcome: Outcome, directory: Path) -> None:
    findings = outcome.findings
    strikes = ", ".join(f"{count} {name}" for name, count in sorted(outcome.strikes.items()))
    print(
        f"{outcome.kind:<18} {strikes}; {findings.commits} commits, {outcome.acknowledged_jobs} acknowledged, "
        f"{findings.snapshots} snapshots, {findings.rewinds} changes of history and {findings.references} tags and "
        f"branches replayed, {findings.claims} reads compared, "
        f"{len(findings.wrong)} findings",
        flush=True,
    )
    for finding in findings.wrong[:20]:
        print(f"  {finding.sort}: {finding.text}", flush=True)
    if findings.wrong:
        print(f"  the table is kept in {directory}", flush=True)
