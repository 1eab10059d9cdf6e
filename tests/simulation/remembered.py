"""Checks that run once for all stores that give them the same answers.

A check that only looks is a function of the answers that the store gives to it. A search tries a change in hundreds of
ways that leave most of the files as they were, so nearly all checks after a trial ask what was asked before, and are
answered the same. ``Remembered`` asks the store those questions again, and runs the check only where an answer differs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

import pyarrow as pa

from table_format.io.file_io import FileStatus
from table_format.io.memory import MemoryFileIO
from table_format.runtime import Clock

Verdict = TypeVar("Verdict")

_MOST_ANSWERS: Final = 500_000
"""The maximum number of remembered answers, about 100 MB. Beyond it, all are forgotten."""

_FAILURES: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


class LookingIO:
    """FileIO that only looks into a memory store, and notes what it was asked and what it answered."""

    def __init__(self, memory: MemoryFileIO) -> None:
        self._memory = memory
        self._clock: Clock = _NotedClock(self)
        self.noted: dict[tuple[str, str], Hashable] = {}

    def answer(self, verb: str, path: str) -> Hashable:
        """The answer of the store now; a failure is an answer as well."""
        if verb == "now":
            return self._memory._clock.now_ms()
        if verb == "open_input":
            verb = "read"  # the content is the answer
        try:
            found = getattr(self._memory, verb)(path)
        except _FAILURES as error:
            return (type(error), *error.args)
        return tuple(found) if isinstance(found, list) else found

    def _note(self, verb: str, path: str) -> Any:
        """Ask, note, and give the answer as the store does."""
        answer = self.noted[verb, path] = self.answer(verb, path)
        if isinstance(answer, tuple) and answer and isinstance(answer[0], type):
            raise answer[0](*answer[1:])
        return answer

    def now_ms(self) -> int:
        """The time, which is one of the answers."""
        return int(self._note("now", ""))

    def read(self, path: str) -> bytes:
        return self._note("read", path)

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self._note("open_input", path))

    def status(self, path: str) -> FileStatus | None:
        return self._note("status", path)

    def list(self, directory: str) -> list[FileStatus]:
        return list(self._note("list", directory))

    def list_hidden(self, directory: str) -> list[FileStatus]:
        return list(self._note("list_hidden", directory))


class _NotedClock:
    """The clock of the store. A check that waits, as it does after a wrong hint, moves only this clock."""

    def __init__(self, looking: LookingIO) -> None:
        self._looking = looking
        self._waited_ms = 0

    def now_ms(self) -> int:
        return self._looking.now_ms() + self._waited_ms

    local_now_ms = monotonic_ms = now_ms

    def sleep_ms(self, duration_ms: int) -> None:
        self._waited_ms += duration_ms


class _Asked:
    """One question of a check, and what follows each answer: the next question, or the verdict."""

    def __init__(self, question: tuple[str, str]) -> None:
        self.question = question
        self.after: dict[Hashable, _Asked | _Found] = {}


class _Found:
    def __init__(self, verdict: object) -> None:
        self.verdict = verdict


class Remembered(Generic[Verdict]):
    """A check, called with a memory store and what it is about. What it raises is not remembered.

    The check must depend on nothing but the store and those arguments.
    """

    def __init__(self, check: Callable[..., Verdict]) -> None:
        self._check = check
        self._first: dict[tuple[Hashable, ...], _Asked | _Found] = {}
        self._answers = 0
        self.runs = 0
        """How often the check itself has run."""

    def __call__(self, memory: MemoryFileIO, *about: Hashable) -> Verdict:
        looking = LookingIO(memory)
        place = self._first.get(about)
        while isinstance(place, _Asked):
            place = place.after.get(looking.answer(*place.question))
        if place is not None:
            return place.verdict  # type: ignore[return-value]
        self.runs += 1
        verdict = self._check(looking, *about)
        self._remember(about, looking, verdict)
        return verdict

    def _remember(self, about: tuple[Hashable, ...], looking: LookingIO, verdict: Verdict) -> None:
        if self._answers + len(looking.noted) > _MOST_ANSWERS:
            self._first.clear()
            self._answers = 0
        self._answers += len(looking.noted)
        found = _Found(verdict)
        places: dict[Any, _Asked | _Found] = self._first
        key: Hashable = about
        for question, answer in looking.noted.items():
            asked = places.get(key)
            if not isinstance(asked, _Asked) or asked.question != question:
                asked = places[key] = _Asked(question)
            places, key = asked.after, answer
        places[key] = found
