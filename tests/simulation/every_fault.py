"""One fault at every call of an operation, in every way a call can fail, until the operation passes untouched."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from table_format.errors import TableFormatError
from tests.simulation.faults import CRASHES, INTERRUPTS, Fault, FaultKind, PlannedFault
from tests.simulation.history import History, Rules
from tests.simulation.interrupting_io import KINDS
from tests.simulation.operations import Operation
from tests.simulation.process import Process
from tests.simulation.quiescence import check_exactly_once, files_nothing_needs
from tests.simulation.settings import FLOOR_MS, Settings, draw_options
from tests.simulation.store import SharedStore
from tests.simulation.sum_table import create_table
from tests.simulation.world import Actor, Violation, World, runtime_of

MODES = (
    Fault(FaultKind.ERROR_BEFORE),
    Fault(FaultKind.ERROR_AFTER),
    Fault(FaultKind.LATE, 200),
    Fault(FaultKind.DUPLICATE),
    Fault(FaultKind.CRASH_BEFORE),
    Fault(FaultKind.CRASH_AFTER),
    Fault(FaultKind.PARTIAL),
    Fault(FaultKind.PERMISSION),
    Fault(FaultKind.DISK_FULL),
    Fault(FaultKind.SLOW_AFTER, 4 * FLOOR_MS),
    Fault(FaultKind.INTERRUPT_BEFORE),
    Fault(FaultKind.INTERRUPT_AFTER),
    Fault(FaultKind.INTERRUPT_LATE, 200),
)


@dataclass(frozen=True)
class Trial:
    """One run with one fault."""

    operation: Operation
    fault: Fault
    number: int

    def __str__(self) -> str:
        return f"{self.operation.name}, {self.fault} at call {self.number}"


def try_every_call(operation: Operation, fault: Fault, *, first: int = 0, step: int = 1) -> Iterator[Trial]:
    """Run the operation with the fault at one call after the other, until no call is left for it.

    Raises:
        Violation: naming the trial.
    """
    number = first
    while True:
        trial = Trial(operation, fault, number)
        try:
            if not run_trial(trial):
                return
        except AssertionError as error:
            text = f"{error} [{trial}]"
            raise Violation(text) from error
        yield trial
        number += step


def run_trial(trial: Trial) -> bool:
    """Run one trial; whether the fault struck."""
    world = World(0)
    shared = SharedStore(world)
    settings = Settings(options=_options(), expirers=1)
    create_table(shared.files, settings.options)
    history = History(shared, Rules(settings.retain_min, FLOOR_MS))
    setup = Actor("setup", 9, lambda _: None)
    setup.runtime = runtime_of(world, setup)
    trial.operation.prepare(Process.start(shared, setup, history, settings))
    faults = PlannedFault(trial.fault, trial.number)
    begun = len(world.trace)

    def live(actor: Actor) -> None:
        process = Process.start(shared, actor, history, settings)
        while True:
            try:
                trial.operation.act(process)
            except (OSError, TableFormatError) as error:
                raise Violation(f"I12 the operation dies of {error!r}") from error
            except KINDS:
                process.note_interrupt()
            else:
                return

    world.add_actor("op", live, faults)
    world.run(calm_calls=20_000)
    _check(trial, world, shared, history, begun, struck=faults.struck)
    return faults.struck


def _options() -> dict[str, str]:
    options = draw_options(random.Random(0))
    return options | {
        "snapshot.num-retained.min": "1",
        "snapshot.num-retained.max": "1",
        "snapshot.expire.limit": "50",
        "manifest.merge-min-count": "3",
        "manifest.full-compaction-threshold-size": "16 mb",
    }


def _check(trial: Trial, world: World, shared: SharedStore, history: History, begun: int, *, struck: bool) -> None:
    operation = trial.operation
    check_exactly_once(history)
    for snapshot_id in sorted(history.retained - history.doomed):
        history.check_complete(snapshot_id, f"snapshot {snapshot_id}")
    if not operation.done(history):
        raise Violation(f"the operation is not done; retained {sorted(history.retained)}, tags {history.tags}")
    if struck and trial.fault.kind in CRASHES | INTERRUPTS and not operation.finds_rest:
        return
    # What was struck itself may stay: a deletion that failed, a file that came after its maker had given it up.
    spared = {e.path for e in world.trace[begun:] if e.fault is not None and not operation.finds_rest}
    left = [path for path in files_nothing_needs(shared, history) if path not in spared]
    if left and not history.promises.unknown:
        raise Violation(f"I11 files that nothing needs are left: {left}")
