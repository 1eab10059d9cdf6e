"""One run: a world of actors over the real commit and expiry code, checked at every change and at the end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from table_format.errors import TableFormatError
from tests.simulation.faults import NoFaults, SampledFaults
from tests.simulation.history import History, Rules
from tests.simulation.interrupting_io import KINDS
from tests.simulation.legacy import legacy_writer
from tests.simulation.maintenance import alterer, cleaner, compactor, expirer, tagger
from tests.simulation.process import Process
from tests.simulation.quiescence import check_at_the_end
from tests.simulation.readers import reader
from tests.simulation.settings import CLOCK_ERROR_MS, FLOOR_MS, LONGEST_STALL_MS, Settings
from tests.simulation.store import SharedStore
from tests.simulation.sum_table import create_table
from tests.simulation.world import Actor, Event, Violation, World
from tests.simulation.writers import batch_writer, streaming_writer

Body = Callable[[Process], None]
Suppressed = frozenset[tuple[str, int]]
"""Actors and numbers of calls whose faults are left out."""


@dataclass(frozen=True)
class Outcome:
    """What a run was like."""

    trace: list[Event]
    coverage: Counter[str]
    calls: int
    files: tuple[str, ...]


def run(
    seed: int,
    settings: Settings | None = None,
    suppressed: Suppressed = frozenset(),
    at_the_end: Callable[[SharedStore, History], None] | None = None,
) -> Outcome:
    """Run a seed to its end, and check what else shall hold there.

    Raises:
        Violation: an invariant is broken; the trace is its ``trace``.
    """
    settings = settings or Settings.draw(seed)
    world = World(seed, longest_outage_ms=LONGEST_STALL_MS)
    shared = SharedStore(world)
    create_table(shared.files, settings.options)
    error_ms = 2 * CLOCK_ERROR_MS if settings.skewed_clocks or settings.faults.chances else 0
    # The time in a snapshot of a legacy writer may be older than the snapshot by as long as the writer stalled.
    floor_ms = 0 if settings.legacy_writers else FLOOR_MS
    history = History(shared, Rules(settings.retain_min, floor_ms, error_ms))
    for name, body in _cast(settings):
        _add(world, shared, history, settings, name, body, suppressed)
    try:
        world.run(chaos_ms=settings.chaos_ms)
        check_at_the_end(world, shared, history, settings)
        if at_the_end is not None:
            at_the_end(shared, history)
    except AssertionError as error:
        error.trace = world.trace  # type: ignore[attr-defined]
        raise
    return Outcome(world.trace, world.coverage, world.calls, tuple(shared.paths()))


def _cast(settings: Settings) -> list[tuple[str, Body]]:
    roles: list[tuple[str, int, Body]] = [
        ("w", settings.streaming_writers, streaming_writer),
        ("b", settings.batch_writers, batch_writer),
        ("c", settings.compactors, compactor),
        ("x", settings.expirers, expirer),
        ("t", settings.taggers, tagger),
        ("r", settings.readers, reader),
        ("j", settings.legacy_writers, legacy_writer),
        ("o", settings.cleaners, cleaner),
        ("s", settings.alterers, alterer),
    ]
    return [(f"{letter}{i}", body) for letter, count, body in roles for i in range(count)]


def _add(
    world: World,
    shared: SharedStore,
    history: History,
    settings: Settings,
    name: str,
    body: Body,
    suppressed: Suppressed,
) -> None:
    rng = random.Random(f"{world.seed}/{name}/faults")
    spared = frozenset(call for actor, call in suppressed if actor == name)
    faults = SampledFaults(settings.faults, rng, spared) if settings.faults.chances else NoFaults()

    def live(actor: Actor) -> None:
        process = Process.start(shared, actor, history, settings)
        while True:
            try:
                body(process)
            except (OSError, TableFormatError) as error:
                raise Violation(f"I12 {actor.name} dies of {error!r}") from error
            except KINDS:
                process.note_interrupt()  # the process lives on, with what it has in memory
            else:
                return

    actor = world.add_actor(name, live, faults)
    if settings.skewed_clocks:
        actor.skew_ms = random.Random(f"{world.seed}/{name}/skew").randint(-CLOCK_ERROR_MS, CLOCK_ERROR_MS)
