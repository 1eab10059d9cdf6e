"""What one seed draws: options, actors, faults. Times are scaled: an hour of a real table is some seconds here."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from tests.simulation.faults import FaultKind, FaultMix

ATTEMPT_MS = 1_500
REQUEST_MS = 500
FLOOR_MS = (ATTEMPT_MS + REQUEST_MS) * 5 // 2
"""What expiry derives from the two (``retention.default_retain_floor_ms``)."""
LONGEST_STALL_MS = 4 * FLOOR_MS
GRACE_MS = LONGEST_STALL_MS + 2 * FLOOR_MS
"""The age from which a file is an orphan: longer than any writer takes, with the longest outage between two lives."""
CLOCK_ERROR_MS = (FLOOR_MS - ATTEMPT_MS - REQUEST_MS) // 2 - 50
"""How wrong a clock may be: the writer's behind and the expiring one's ahead, together less than the floor's slack."""
SHORT_LIVES = {
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "1",
    "snapshot.time-retained": "1 ms",
    "snapshot.expire.limit": "50",
}


@dataclass(frozen=True)
class Settings:
    """One run."""

    streaming_writers: int = 1
    batch_writers: int = 1
    compactors: int = 1
    expirers: int = 1
    taggers: int = 0
    readers: int = 1
    legacy_writers: int = 0
    cleaners: int = 0
    alterers: int = 0
    jobs: int = 4
    chaos_ms: int = 60_000
    options: dict[str, str] = field(default_factory=dict)
    faults: FaultMix = field(default_factory=FaultMix)
    skewed_clocks: bool = False

    @classmethod
    def draw(cls, seed: int, *, legacy: bool = False) -> Settings:
        """The settings of a seed; every seed is another mix."""
        rng = random.Random(f"{seed}/settings")
        drawn = cls(
            streaming_writers=rng.choice((1, 1, 2)),
            batch_writers=rng.choice((0, 1, 1)),
            compactors=rng.choice((1, 1, 2)),
            expirers=rng.choice((0, 1, 1, 1, 2)),
            taggers=rng.choice((0, 1)),
            readers=1,
            legacy_writers=1 if legacy else 0,
            options=draw_options(rng),
            faults=FaultMix.draw(rng, longest_stall_ms=LONGEST_STALL_MS, widest_jump_ms=CLOCK_ERROR_MS),
            skewed_clocks=rng.random() < 0.5,
        )
        # The other library believes the hints.
        return drawn if not legacy else replace(drawn, faults=drawn.faults.without(FaultKind.HINT_DAMAGED))

    @classmethod
    def draw_stalling(cls, seed: int) -> Settings:
        """Settings in which processes sleep and die a lot while snapshots live as shortly as they may."""
        drawn = cls.draw(seed)
        chances = {
            FaultKind.SLOW_AFTER: 0.02,
            FaultKind.SLOW_BEFORE: 0.005,
            FaultKind.CRASH_AFTER: 0.01,
            FaultKind.OUTAGE: 0.003,
        }
        faults = FaultMix(chances, LONGEST_STALL_MS)
        return replace(
            drawn, expirers=1, jobs=6, options=drawn.options | SHORT_LIVES, faults=faults, skewed_clocks=False
        )

    @classmethod
    def draw_interrupted(cls, seed: int) -> Settings:
        """Settings in which calls are interrupted, beside other faults or alone, and processes live on."""
        drawn = cls.draw(seed)
        faults = drawn.faults.with_interrupts(random.Random(f"{seed}/interrupts"))
        return replace(drawn, batch_writers=2, jobs=6, faults=faults)

    @classmethod
    def draw_outages(cls, seed: int) -> Settings:
        """Settings in which the answer to a commit is often lost, and then all is silence."""
        return replace(cls.draw(seed), batch_writers=2, jobs=6, faults=FaultMix({FaultKind.OUTAGE: 0.03}))

    @classmethod
    def draw_crowd(cls, seed: int) -> Settings:
        """Settings without faults in which many begin at once."""
        drawn = cls.draw(seed)
        return replace(
            drawn, streaming_writers=8, batch_writers=0, compactors=0, expirers=0, taggers=0, jobs=1, faults=FaultMix()
        )

    @classmethod
    def draw_housekeeping(cls, seed: int) -> Settings:
        """Settings without faults in which tags come and go while snapshots live as shortly as they may."""
        drawn = cls.draw(seed)
        return replace(drawn, taggers=4, expirers=1, options=drawn.options | SHORT_LIVES, faults=FaultMix())

    @classmethod
    def draw_damaged(cls, seed: int) -> Settings:
        """Settings in which tags come and go, and hints say anything."""
        return replace(cls.draw_housekeeping(seed), faults=FaultMix({FaultKind.HINT_DAMAGED: 0.03}))

    @classmethod
    def draw_altering(cls, seed: int) -> Settings:
        """Settings in which columns are added while writers and compactors work under schemas of the past."""
        drawn = cls.draw(seed)
        faults = drawn.faults if seed % 2 else FaultMix()
        return replace(drawn, alterers=1, compactors=2, batch_writers=1, jobs=6, faults=faults)

    @classmethod
    def draw_cleaning(cls, seed: int) -> Settings:
        """Settings in which much is left behind, nobody sleeps for long, and orphans are cleaned all the time."""
        kinds = (FaultKind.ERROR_BEFORE, FaultKind.ERROR_AFTER, FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER)
        faults = FaultMix({**dict.fromkeys(kinds, 0.004), FaultKind.PARTIAL: 0.004})
        return replace(cls.draw(seed), cleaners=1, expirers=1, faults=faults, skewed_clocks=False)

    @property
    def retain_min(self) -> int:
        return int(self.options["snapshot.num-retained.min"])


def draw_options(rng: random.Random) -> dict[str, str]:
    """Options of the table: short lives, and manifests merged in either way or not at all."""
    retain_min = rng.choice((1, 1, 2, 3))
    return {
        "commit.attempt-timeout": f"{ATTEMPT_MS} ms",
        "commit.request-timeout": f"{REQUEST_MS} ms",
        "commit.max-retry-wait": "200 ms",
        "commit.max-retries": rng.choice(("10", "10", "1")),
        "snapshot.time-retained": f"{rng.choice((1, FLOOR_MS, 2 * FLOOR_MS))} ms",
        "snapshot.num-retained.min": str(retain_min),
        "snapshot.num-retained.max": str(retain_min + rng.choice((0, 2, 1000))),
        "snapshot.expire.limit": rng.choice(("1", "50")),
        "manifest.target-file-size": rng.choice(("8 mb", "2120 b")),
        "manifest.merge-min-count": rng.choice(("2", "4", "30")),
        "manifest.full-compaction-threshold-size": rng.choice(("1 b", "16 mb", "16 mb")),
    }
