"""A deterministic world: actors are greenlets, every call of a store is a switch point, time is a number.

Each call takes a drawn time; the actor whose call ends first continues. All random numbers come from one seed, so a
seed and the code repeat a run. Production code runs unchanged: it uses only ``FileIO`` and ``Runtime``.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import greenlet

from table_format.runtime import Runtime
from tests.simulation.faults import Fault, FaultSource, NoFaults

_LATENCIES_MS = (1, 1, 2, 2, 3, 5, 8, 13, 40, 120)
START_MS = 1_700_000_000_000


class Crash(BaseException):
    """The process of the actor died; nothing of it runs on."""


class Violation(AssertionError):
    """An invariant is broken; the text begins with its number."""


@dataclass(frozen=True)
class Event:
    """One line of the trace."""

    time_ms: int
    actor: str
    verb: str
    path: str
    fault: Fault | None = None
    call: int = 0

    def __str__(self) -> str:
        fault = f"  !{self.fault} (call {self.call})" if self.fault else ""
        return f"{self.time_ms - START_MS:>8} {self.actor:<6} {self.verb:<10} {self.path}{fault}"


@dataclass
class Actor:
    """One process: its name, what it does, and what it would find again after a crash."""

    name: str
    number: int
    body: Callable[[Actor], None]
    faults: FaultSource = field(default_factory=NoFaults)
    skew_ms: int = 0
    incarnation: int = 0
    calls: int = 0
    alive: bool = True
    runtime: Runtime = field(default_factory=Runtime)
    durable: dict[str, object] = field(default_factory=dict)


class World:
    """The schedule. ``run`` returns when every actor has ended."""

    def __init__(self, seed: int | str, *, max_restarts: int = 60, longest_outage_ms: int = 50) -> None:
        self.rng = random.Random(f"{seed}/schedule")
        self.seed = seed
        self.now_ms = START_MS
        self.trace: list[Event] = []
        self.coverage: Counter[str] = Counter()
        self.calm = False
        self.calm_since_ms: int | None = None
        self.calls = 0
        self.actors: dict[str, Actor] = {}
        self._max_restarts = max_restarts
        self._longest_outage_ms = max(longest_outage_ms, 50)
        self._queue: list[tuple[int, int, str, Callable[[], None]]] = []
        self._order = 0
        self._main = greenlet.getcurrent()
        self._greenlets: dict[str, greenlet.greenlet] = {}
        self._running = False

    def add_actor(self, name: str, body: Callable[[Actor], None], faults: FaultSource | None = None) -> Actor:
        """Add an actor that begins at once; after a crash ``body`` is called again with the same ``durable``."""
        actor = Actor(name, len(self.actors), body, faults or NoFaults())
        self.actors[name] = actor
        self._start(actor)
        return actor

    def run(self, *, chaos_ms: int | None = None, calm_calls: int = 50_000) -> None:
        """Run all actors to their end; after ``chaos_ms`` faults stop, and all must end within ``calm_calls`` calls.

        Raises:
            Violation: I12, somebody does not come to an end.
        """
        self._running = True
        try:
            self._run(chaos_ms, calm_calls)
        finally:
            self._running = False
            self._end_all()

    def _run(self, chaos_ms: int | None, calm_calls: int) -> None:
        calls_when_calm = None
        while self._queue:
            time_ms, _, _, resume = heapq.heappop(self._queue)
            self.now_ms = max(self.now_ms, time_ms)
            if chaos_ms is not None and not self.calm and self.now_ms - START_MS >= chaos_ms:
                self.calm, self.calm_since_ms = True, self.now_ms
            if self.calm and calls_when_calm is None:
                calls_when_calm = self.calls
            if calls_when_calm is not None and self.calls - calls_when_calm > calm_calls:
                waiting = sorted(name for name, g in self._greenlets.items() if not g.dead)
                raise Violation(f"I12 no progress without faults: {', '.join(waiting)} still running")
            resume()

    def later(self, delay_ms: int, what: str, action: Callable[[], None]) -> None:
        """Do something at a later time, outside any actor."""
        self._push(self.now_ms + delay_ms, what, action)

    def pause(self, actor: Actor, duration_ms: int) -> None:
        """Let the others continue until the time has passed; called by the actor."""
        if not actor.alive:
            raise Crash
        if not self._running:
            self.now_ms += duration_ms
            return
        target = greenlet.getcurrent()
        self._push(self.now_ms + duration_ms, actor.name, lambda: self._resume(actor, target))
        self._main.switch()
        if not actor.alive:
            raise Crash

    def latency_ms(self) -> int:
        """The time of one call."""
        return self.rng.choice(_LATENCIES_MS)

    def record(self, actor: Actor, verb: str, path: str, fault: Fault | None) -> None:
        self.trace.append(Event(self.now_ms, actor.name, verb, path, fault, actor.calls))
        if fault:
            self.coverage[str(fault.kind)] += 1

    def note(self, what: str) -> None:
        """Count that something worth testing has happened."""
        self.coverage[what] += 1

    # --- greenlets --------------------------------------------------------------------------------------------------

    def _start(self, actor: Actor) -> None:
        actor.runtime = runtime_of(self, actor)
        actor.alive = True
        body = greenlet.greenlet(lambda: actor.body(actor))
        self._greenlets[actor.name] = body
        # Most processes are restarted at once, some only when somebody looks.
        longest_ms = self._longest_outage_ms if actor.incarnation and self.rng.random() < 0.2 else 50
        delay_ms = self.rng.randrange(1, longest_ms)
        self._push(self.now_ms + delay_ms, actor.name, lambda: self._resume(actor, body))

    def _push(self, time_ms: int, what: str, resume: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._queue, (time_ms, self._order, what, resume))

    def _resume(self, actor: Actor, target: greenlet.greenlet) -> None:
        if target.dead or self._greenlets.get(actor.name) is not target:
            return
        try:
            target.switch()
        except Crash:
            self._restart(actor)

    def _end_all(self) -> None:
        """After a violation nobody may run on: not even when a greenlet is collected in the middle of another run."""
        for name, body in self._greenlets.items():
            self.actors[name].alive = False
            if not body.dead and body.gr_frame is not None:
                with suppress(Crash):
                    body.throw(Crash)

    def _restart(self, actor: Actor) -> None:
        self.note("crashes")
        actor.incarnation += 1
        if actor.incarnation > self._max_restarts:
            raise Violation(f"I12 {actor.name} was restarted {self._max_restarts} times")
        self.record(actor, "restart", "", None)
        self._start(actor)


@dataclass(frozen=True)
class SimClock:
    """The clock of one actor: its wall clock is off by the skew, its monotonic clock is not."""

    world: World
    actor: Actor

    def now_ms(self) -> int:
        return self.world.now_ms + self.actor.skew_ms

    def local_now_ms(self) -> int:
        return self.now_ms()

    def monotonic_ms(self) -> int:
        return self.world.now_ms

    def sleep_ms(self, duration_ms: int) -> None:
        self.world.pause(self.actor, max(duration_ms, 1))


@dataclass(frozen=True)
class SimRandom:
    """Chance of one actor."""

    rng: random.Random

    def random(self) -> float:
        return self.rng.random()


@dataclass
class SimIds:
    """Ids that say who made them: actor, incarnation, counter."""

    actor: Actor
    made: int = 0

    def uuid(self) -> str:
        self.made += 1
        return f"{self.actor.number:08x}-{self.actor.incarnation:04x}-4000-8000-{self.made:012x}"


def runtime_of(world: World, actor: Actor) -> Runtime:
    """Clock, chance and ids of one incarnation of an actor."""
    rng = random.Random(f"{world.seed}/{actor.name}/{actor.incarnation}")
    return Runtime(SimClock(world, actor), SimRandom(rng), SimIds(actor))
