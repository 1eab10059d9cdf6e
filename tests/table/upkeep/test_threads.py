"""Pieces of maintenance work on threads: results, failures and progress."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from table_format.table.upkeep.threads import in_threads
from tests.support.interrupts import interrupted_wait


def inverse(piece: int) -> Sequence[float]:
    return [1 / piece]


@pytest.mark.parametrize("pieces", [[], [2], [4, 2, 1]])
def test_results_come_in_the_order_of_the_pieces(pieces: list[int]) -> None:
    calls: list[tuple[int, int]] = []
    found = list(in_threads(pieces, inverse, lambda done, total: calls.append((done, total))))
    assert found == [1 / piece for piece in pieces]
    assert calls == [(done, len(pieces)) for done in range(len(pieces) + 1)]


def test_the_successful_results_come_before_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    results = in_threads([0, 2, 0, 1], inverse)
    assert [next(results), next(results)] == [0.5, 1.0]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_an_error_of_the_callback_is_raised_after_all_results() -> None:
    def refuse(done: int, total: int) -> None:
        if done:
            raise InterruptedError

    results = in_threads([2, 1], inverse, refuse)
    assert [next(results), next(results)] == [0.5, 1.0]
    with pytest.raises(InterruptedError):
        next(results)


def test_the_results_until_an_interrupt_come_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    again = interrupted_wait(monkeypatch)

    def slow(piece: int) -> Sequence[int]:
        again.wait(30)
        return [piece]

    results = in_threads([1, 2, 3, 4, 5], slow)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(KeyboardInterrupt):
        list(results)
