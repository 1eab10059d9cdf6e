"""The simulator itself: it replays, it interleaves, and every kind of fault does what its name says."""

from __future__ import annotations

import random

import pytest

from tests.simulation.faults import INTERRUPTS, Fault, FaultKind, FaultMix, FaultSource, PlannedFault, SampledFaults
from tests.simulation.store import FaultyFileIO, SharedStore
from tests.simulation.world import START_MS, Violation, World


class OneFault(FaultSource):
    """The fault strikes the first call."""

    def __init__(self, kind, amount=0):
        self._faults = [Fault(kind, amount)]

    def next_fault(self, verb, path):
        return self._faults.pop() if self._faults else None


def world_of_one(body, faults=None, seed=0):
    world = World(seed)
    store = SharedStore(world)
    world.add_actor("a", lambda actor: body(FaultyFileIO(store, actor), actor), faults)
    return world, store


def run_counters(seed, actors=4, rounds=20):
    """Actors that race for the names n-0, n-1 ...; the winners in order of the names, and the trace."""
    world = World(seed)
    store = SharedStore(world)
    winners = {}

    def body(actor):
        io = FaultyFileIO(store, actor)
        done = actor.durable.setdefault("done", [])
        while len(done) < rounds:
            try:
                number = len(io.list("/d"))
                io.create(f"/d/n-{number:04}", actor.name.encode())
            except OSError:
                continue
            winners[number] = actor.name
            done.append(number)

    mix = FaultMix.draw(random.Random(seed), longest_stall_ms=1000)
    for i in range(actors):
        world.add_actor(f"a{i}", body, SampledFaults(mix, random.Random(f"{seed}/{i}")))
    world.run(chaos_ms=30_000)
    return [winners[n] for n in sorted(winners)], world.trace


def test_a_seed_is_a_replay():
    for seed in range(5):
        assert run_counters(seed) == run_counters(seed)


def test_seeds_differ_and_actors_interleave():
    orders = {tuple(run_counters(seed)[0][:12]) for seed in range(10)}
    assert len(orders) == 10
    assert all(len(set(order)) > 1 for order in orders)


@pytest.mark.parametrize(
    ("kind", "happened", "answer"),
    [
        (FaultKind.ERROR_BEFORE, False, OSError),
        (FaultKind.ERROR_AFTER, True, OSError),
        (FaultKind.LATE, True, TimeoutError),
        (FaultKind.OUTAGE, True, OSError),
        (FaultKind.DUPLICATE, True, FileExistsError),
        (FaultKind.THROTTLE, False, OSError),
        (FaultKind.PERMISSION, False, PermissionError),
        (FaultKind.DISK_FULL, False, OSError),
        (FaultKind.SLOW_BEFORE, True, None),
        (FaultKind.SLOW_AFTER, True, None),
        (FaultKind.CLOCK_JUMP, True, None),
    ],
)
def test_a_fault_at_create_has_its_effect_and_its_answer(kind, happened, answer):
    answers = []

    def body(io, actor):
        try:
            io.create("/f", b"x")
        except OSError as error:
            answers.append(type(error))
        else:
            answers.append(None)

    world, store = world_of_one(body, OneFault(kind, 100))
    world.run()
    assert answers == [answer]
    assert store.paths() == (["/f"] if happened else [])
    assert [event.fault.kind for event in world.trace] == [kind]


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (FaultKind.CRASH_BEFORE, []),
        (FaultKind.CRASH_AFTER, ["/f"]),
        (FaultKind.PARTIAL, ["/.f.00000000-0000-4000-8000-000000000001.tmp"]),
    ],
)
def test_a_crash_ends_the_process_which_begins_again_with_what_is_durable(kind, left):
    seen = []

    def body(io, actor):
        seen.append((actor.incarnation, dict(actor.durable), store.paths()))
        actor.durable["since"] = actor.incarnation
        if actor.incarnation == 0:
            try:
                io.create("/f", b"xx")
            finally:
                io.delete("/f")  # a dead process does not clean up

    world, store = world_of_one(body, OneFault(kind))
    world.run()
    assert seen == [(0, {}, []), (1, {"since": 0}, left)]


def test_a_crash_while_an_output_is_closed_leaves_half_a_file():
    def body(io, actor):
        if actor.incarnation == 0:
            with io.open_output("/f") as sink:
                sink.write(b"0123456789")

    world, store = world_of_one(body, PlannedFault(Fault(FaultKind.PARTIAL), 0, verb="close"))
    world.run()
    assert store.files.read("/f") == b"01234"


def test_a_stale_listing_shows_the_past():
    listings = []

    def body(io, actor):
        io.create("/d/old", b"")
        actor.runtime.clock.sleep_ms(10_000)
        io.create("/d/new", b"")
        io.delete("/d/old")
        for _ in range(2):
            listings.append([status.name for status in io.list("/d")])

    world, _ = world_of_one(body, PlannedFault(Fault(FaultKind.STALE_LIST, 5_000), 0))
    world.run()
    assert listings == [["old"], ["new"]]


def test_a_stale_read_shows_the_bytes_before_the_last_overwrite():
    reads = []

    def body(io, actor):
        io.overwrite("/hint", b"1")
        io.overwrite("/hint", b"2")
        reads.extend([io.read("/hint"), io.read("/hint")])

    world, _ = world_of_one(body, PlannedFault(Fault(FaultKind.STALE_READ), 0))
    world.run()
    assert reads == [b"1", b"2"]


def test_a_clock_jump_moves_the_wall_clock_and_not_the_monotonic_one():
    clocks = []

    def body(io, actor):
        for _ in range(2):
            clocks.append((actor.runtime.clock.now_ms() - START_MS, actor.runtime.clock.monotonic_ms() - START_MS))
            io.status("/")

    world, _ = world_of_one(body, OneFault(FaultKind.CLOCK_JUMP, 7_200_000))
    world.run()
    assert clocks[0][0] == clocks[0][1]
    assert clocks[1][0] - clocks[1][1] == 7_200_000


def test_a_request_that_is_on_its_way_too_long_is_given_up_without_effect():
    errors = []
    world = World(0)
    store = SharedStore(world)

    def body(actor):
        try:
            FaultyFileIO(store, actor, request_ms=1000).create("/f", b"")
        except OSError as error:
            errors.append(error)

    world.add_actor("a", body, OneFault(FaultKind.SLOW_BEFORE, 2000))
    world.run()
    assert len(errors) == 1
    assert store.paths() == []


@pytest.mark.parametrize("kind", [FaultKind.THROTTLE, FaultKind.OUTAGE])
def test_throttling_and_outages_last_for_several_calls(kind):
    answers = []
    mix = FaultMix({kind: 1.0})

    class OnceThrottled(SampledFaults):
        def next_fault(self, verb, path):
            fault = super().next_fault(verb, path)
            self._mix = FaultMix()
            return fault

    def body(io, actor):
        for _ in range(20):
            try:
                io.status("/")
                answers.append(True)
            except OSError:
                answers.append(False)

    world, _ = world_of_one(body, OnceThrottled(mix, random.Random(1)))
    world.run()
    assert not answers[0]
    assert not answers[1]
    assert answers[-1]


def test_a_suppressed_fault_moves_no_other():
    mix = FaultMix({FaultKind.ERROR_BEFORE: 0.2, FaultKind.LATE: 0.1})

    def faults(suppressed):
        source = SampledFaults(mix, random.Random(3), frozenset(suppressed))
        return {n: fault for n in range(1, 200) if (fault := source.next_fault("create", "/f"))}

    everything = faults([])
    first = min(everything)
    rest = faults([first])
    assert rest == {n: fault for n, fault in everything.items() if n != first}


def test_who_never_ends_without_faults_is_a_violation():
    def body(io, actor):
        while True:
            io.status("/")

    world, _ = world_of_one(body)
    with pytest.raises(Violation, match="I12 no progress"):
        world.run(chaos_ms=100, calm_calls=500)


def test_a_third_of_the_seeds_have_no_faults_and_the_others_differ():
    mixes = [FaultMix.draw(random.Random(seed), longest_stall_ms=1000) for seed in range(300)]
    assert 60 < sum(not mix.chances for mix in mixes) < 140
    assert {kind for mix in mixes for kind in mix.chances} == set(FaultKind) - INTERRUPTS
