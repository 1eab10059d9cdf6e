"""A process that works on tables, is sent SIGINT again and again, and lives on with the tables it has opened."""

from __future__ import annotations

import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import FrameType

import pyarrow as pa

from table_format import Table, load_catalog

ROWS_OF_ROUND = 20


class Interruptions:
    """The handler of the signal: it interrupts each piece of work at most twice, the second time in its clean-up."""

    def __init__(self) -> None:
        self.count = 0
        self._left = 0
        signal.signal(signal.SIGINT, self._strike)

    def _strike(self, _signal: int, _frame: FrameType | None) -> None:
        if self._left:
            self._left -= 1
            self.count += 1
            raise KeyboardInterrupt

    def during(self, work: Callable[[], object]) -> bool:
        """Do the work; whether it came to its end."""
        try:
            try:
                self._left = 2
                work()
                self._left = 0
            except BaseException as error:
                self._left = 0
                if not _was_interrupted(error):
                    raise
                return False
        except KeyboardInterrupt:
            return False
        return True


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether it is an interrupt, or what compiled code or a clean-up has made of one."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def rows_of_round(number: int) -> pa.Table:
    """Rows that no other round has."""
    first = number * ROWS_OF_ROUND
    keys = pa.array(range(first, first + ROWS_OF_ROUND), pa.int64())
    return pa.table({"id": keys, "v": keys})


def work_under_signals(warehouse: str, rounds: int, sender: Connection) -> None:
    """Add rows round after round, and compact, sort or rescale after each; report the number of interrupts."""
    interruptions = Interruptions()
    catalog = load_catalog({"warehouse": warehouse})
    tables = [catalog.load_table(name) for name in ("db.log", "db.kv")]
    sender.send("ready")
    number = 0

    def work() -> None:
        log, kv = tables
        assert isinstance(log, Table)
        assert isinstance(kv, Table)
        rows = rows_of_round(number)
        log.append(rows, commit_user="job", identifier=number + 1)
        kv.rescale()  # what an interrupt has left with another number of buckets
        kv.append(rows, commit_user="job", identifier=number + 1)
        if number % 2:
            log.compact(order_by=["v"])
            kv.rescale(3)
        else:
            log.compact(full=True)
            kv.compact(full=True)

    while number < rounds:
        number += interruptions.during(work)
    interruptions.during(lambda: None)
    sender.send(interruptions.count)
