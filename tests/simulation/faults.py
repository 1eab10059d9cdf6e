"""What can go wrong at one call of a store, and who decides when.

A fault is a value: it stands in the trace, it can be asked for by a plan, and it can be left out to see whether a
failure needs it. The vocabulary matters more than volume: errors, crashes and lost answers alone never find an id that
is taken again after its expiry; a stall finds it at once.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum


class FaultKind(StrEnum):
    ERROR_BEFORE = "error_before"  # fails, nothing happened
    ERROR_AFTER = "error_after"  # happened, but the answer is lost
    LATE = "late"  # fails, and happens all the same a while later
    DUPLICATE = "duplicate"  # the client repeats a request that had landed, and meets itself
    CRASH_BEFORE = "crash_before"  # the process dies
    CRASH_AFTER = "crash_after"
    PARTIAL = "partial"  # dies in the middle of writing: half a file, or a temporary file, stays
    SLOW_BEFORE = "slow_before"  # parked before the effect, possibly for longer than snapshots live
    SLOW_AFTER = "slow_after"  # parked after it
    STALE_LIST = "stale_list"  # names of the last moments are missing, deleted ones are still shown
    STALE_READ = "stale_read"  # an overwritten file (hint, consumer) shows its previous bytes
    THROTTLE = "throttle"  # this call and the next few are refused
    OUTAGE = "outage"  # this call happens without answer, and the next ones find no connection
    PERMISSION = "permission"  # refused, and will be
    DISK_FULL = "disk_full"  # no room for what is written
    CLOCK_JUMP = "clock_jump"  # the wall clock of the process is set
    INTERRUPT_BEFORE = "interrupt_before"  # Ctrl-C or the like; the process lives on with the objects it has
    INTERRUPT_AFTER = "interrupt_after"
    INTERRUPT_LATE = "interrupt_late"  # while the request is on its way, which takes effect a while later
    HINT_DAMAGED = "hint_damaged"  # one of the hints says something else from now on


CRASHES = frozenset({FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER, FaultKind.PARTIAL})
INTERRUPTS = frozenset({FaultKind.INTERRUPT_BEFORE, FaultKind.INTERRUPT_AFTER, FaultKind.INTERRUPT_LATE})
STALLS = frozenset({FaultKind.SLOW_BEFORE, FaultKind.SLOW_AFTER})
HARMLESS_TO_FILES = STALLS | {FaultKind.HINT_DAMAGED, FaultKind.CLOCK_JUMP, FaultKind.STALE_LIST, FaultKind.STALE_READ}


_WRITING = frozenset({"create", "overwrite", "open_output", "close"})
_ONLY_FOR = {
    FaultKind.LATE: frozenset({"create", "overwrite", "delete"}),
    FaultKind.INTERRUPT_LATE: frozenset({"create", "overwrite", "delete"}),
    FaultKind.DUPLICATE: frozenset({"create"}),
    FaultKind.PARTIAL: _WRITING,
    FaultKind.STALE_LIST: frozenset({"list"}),
    FaultKind.STALE_READ: frozenset({"read"}),
    FaultKind.DISK_FULL: _WRITING | {"make_directory"},
}


COMMIT_POINT_WEIGHT = 8
"""How much likelier faults are where they hurt most: at the one call in forty that publishes a snapshot."""


def fits(kind: FaultKind, verb: str) -> bool:
    """Whether that can happen at a call of that verb."""
    return verb in _ONLY_FOR.get(kind, (verb,))


@dataclass(frozen=True)
class Fault:
    """One fault at one call. ``amount`` is milliseconds, or calls to throttle."""

    kind: FaultKind
    amount: int = 0

    def __str__(self) -> str:
        return f"{self.kind}({self.amount})" if self.amount else str(self.kind)


@dataclass(frozen=True)
class FaultMix:
    """How likely each kind is at a call: every seed draws its own, and a third of the seeds have none."""

    chances: Mapping[FaultKind, float] = field(default_factory=dict)
    longest_stall_ms: int = 0
    widest_jump_ms: int = 0

    @classmethod
    def draw(cls, rng: random.Random, *, longest_stall_ms: int, widest_jump_ms: int = 0) -> FaultMix:
        if rng.random() < 1 / 3:
            return cls()
        apart = INTERRUPTS | {FaultKind.HINT_DAMAGED}
        kinds = [kind for kind in FaultKind if kind not in apart and rng.random() < 0.5]
        chances = {kind: rng.choice((0.001, 0.004, 0.015)) for kind in kinds}
        # Drawn from what was drawn, and the last, so that seeds of before it mean the same but for it.
        if (own := random.Random(repr(chances))).random() < 0.5:
            chances[FaultKind.HINT_DAMAGED] = own.choice((0.004, 0.015))
        return cls(chances, longest_stall_ms, widest_jump_ms)

    def with_interrupts(self, rng: random.Random) -> FaultMix:
        """The mix with interrupts besides, which all the other draws know nothing of."""
        more = {kind: rng.choice((0.002, 0.008, 0.02)) for kind in sorted(INTERRUPTS)}
        return replace(self, chances={**self.chances, **more})

    def without(self, kind: FaultKind) -> FaultMix:
        """The mix without one kind."""
        return replace(self, chances={k: chance for k, chance in self.chances.items() if k is not kind})

    def sample(self, rng: random.Random, verb: str, weight: int = 1) -> Fault | None:
        """Draw the fault of one call. Always the same number of draws, so that leaving one out moves no other."""
        position, amount = rng.random() / weight, rng.random()
        for kind, chance in self.chances.items():
            if position < chance:
                return Fault(kind, self._amount(kind, amount)) if fits(kind, verb) else None
            position -= chance
        return None

    def _amount(self, kind: FaultKind, amount: float) -> int:
        if kind in STALLS:
            # As many short stalls as long ones: the square puts half of them below a quarter of the longest.
            return 1 + int(amount * amount * self.longest_stall_ms)
        if kind is FaultKind.CLOCK_JUMP:
            return int((2 * amount - 1) * self.widest_jump_ms)
        if kind is FaultKind.THROTTLE:
            return 1 + int(amount * 4)
        if kind is FaultKind.OUTAGE:
            return 1 + int(amount * 16)
        if kind is FaultKind.HINT_DAMAGED:
            return int(amount * 1000)
        if kind in (FaultKind.STALE_LIST, FaultKind.LATE, FaultKind.INTERRUPT_LATE):
            return 1 + int(amount * 400)
        return 0


class FaultSource:
    """Where an actor's faults come from: ``next_fault`` is asked once for each call of the store."""

    def next_fault(self, verb: str, path: str) -> Fault | None:
        raise NotImplementedError


class NoFaults(FaultSource):
    def next_fault(self, verb: str, path: str) -> Fault | None:
        return None


class SampledFaults(FaultSource):
    """Faults by chance; the calls whose numbers are in ``suppressed`` are spared (for shrinking a failure)."""

    def __init__(self, mix: FaultMix, rng: random.Random, suppressed: frozenset[int] = frozenset()) -> None:
        self._mix = mix
        self._rng = rng
        self._suppressed = suppressed
        self._calls = 0
        self._refused = 0
        self._refusal = FaultKind.THROTTLE

    def next_fault(self, verb: str, path: str) -> Fault | None:
        self._calls += 1
        weight = COMMIT_POINT_WEIGHT if verb == "create" and "/snapshot/" in path else 1
        fault = self._mix.sample(self._rng, verb, weight)
        if self._calls in self._suppressed:
            return None
        if self._refused:
            self._refused -= 1
            return Fault(self._refusal, self._refused)
        if fault and fault.kind in (FaultKind.THROTTLE, FaultKind.OUTAGE):
            self._refused = fault.amount
            self._refusal = FaultKind.THROTTLE if fault.kind is FaultKind.THROTTLE else FaultKind.ERROR_BEFORE
        return fault


class PlannedFault(FaultSource):
    """One fault at the ``number``-th call that it fits (from 0); for trying every call in turn."""

    def __init__(self, fault: Fault, number: int, *, verb: str | None = None, path_part: str = "") -> None:
        self._fault = fault
        self._number = number
        self._verb = verb
        self._path_part = path_part
        self.struck = False

    def next_fault(self, verb: str, path: str) -> Fault | None:
        if self.struck or not fits(self._fault.kind, verb):
            return None
        if (self._verb and verb != self._verb) or self._path_part not in path:
            return None
        self._number -= 1
        if self._number >= 0:
            return None
        self.struck = True
        return self._fault
