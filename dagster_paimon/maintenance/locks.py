"""One maintenance run for each table at a time, however the runs were launched.

A run takes the only slot of a concurrency pool that is named after the table. It does so inside its op, so runs from
a command line or a test, and untagged runs from the launchpad, also take part. Deployment > Concurrency shows the
runs that hold a slot or wait for one, and can free it.

Tables are safe without locks, because commits detect conflicts. A lock avoids wasted work of the losing run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import dagster as dg
from dagster import DagsterInstance
from filelock import FileLock

_CLAIMS: Final = ".maintenance-claims.lock"
"""A file in the directory of the instance, locked by the process that claims a slot."""

_FIRST_WAIT: Final = 0.2
_LONGEST_WAIT: Final = 5.0
_SAY_EVERY: Final = 60.0


def pool_of(table: str) -> str:
    """Return the pool with one slot, which a maintenance run of the table takes.

    >>> pool_of("shop.orders")
    'maintain/shop.orders'
    """
    return f"maintain/{table}"


@dataclass(frozen=True, slots=True)
class TableLocks:
    """The locks of one step of a run."""

    instance: DagsterInstance
    run_id: str
    step_key: str
    log: logging.Logger
    sleep: Callable[[float], None] = time.sleep

    @contextmanager
    def alone(self, table: str) -> Iterator[None]:
        """Wait until no other run maintains the table, and keep others waiting inside the block."""
        storage = self.instance.event_log_storage
        if not storage.supports_global_concurrency_limits:
            self.log.debug("an instance in memory has no pools: other runs may maintain %s at the same time", table)
            yield
            return
        pool = pool_of(table)
        self._make(pool)
        try:
            self._wait(pool, table)
            yield
        finally:
            storage.free_concurrency_slot_for_step(self.run_id, self.step_key)

    def _make(self, pool: str) -> None:
        storage = self.instance.event_log_storage
        if pool in storage.get_concurrency_keys():
            return
        try:
            storage.set_concurrency_slots(pool, 1)
        except Exception:
            # Another process may create it at the same time; storages raise different errors in this case.
            if pool not in storage.get_concurrency_keys():
                raise

    def _wait(self, pool: str, table: str) -> None:
        wait, waited, say_at = _FIRST_WAIT, 0.0, 0.0
        while not self._claimed(pool):
            ahead = self._ahead(pool)
            others = ahead - {self.run_id}
            if waited >= say_at:
                self.log.info("%s", self._reason(pool, others, table))
                say_at += _SAY_EVERY
            self._free_finished(others)
            if not ahead:
                self._make(pool)  # it may have been deleted
                self._queue_again()
            self.sleep(wait)
            waited += wait
            wait = min(wait * 1.5, _LONGEST_WAIT)
        if waited:
            self.log.info("%s is free now", table)

    def _claimed(self, pool: str) -> bool:
        storage = self.instance.event_log_storage
        # On SQLite, a claim is a read and then a write. Without the lock, two processes could both get the slot.
        with FileLock(Path(self.instance.root_directory) / _CLAIMS):
            return bool(storage.claim_concurrency_slot(pool, self.run_id, self.step_key).is_claimed)

    def _ahead(self, pool: str) -> set[str]:
        """Return the run that has the slot, or gets it next."""
        info = self.instance.event_log_storage.get_concurrency_info(pool)
        next_runs = {step.run_id for step in info.pending_steps if step.assigned_timestamp is not None}
        return {slot.run_id for slot in info.claimed_slots} | next_runs

    def _reason(self, pool: str, others: Collection[str], table: str) -> str:
        if others:
            return f"waiting for run {', '.join(sorted(others))}, which maintains {table} (pool {pool})"
        if not self.instance.event_log_storage.get_concurrency_info(pool).slot_count:
            return (
                f"waiting: the limit of pool {pool} is 0; set it to 1 in Deployment > Concurrency to maintain {table}"
            )
        return f"waiting for another run, which maintains {table} (pool {pool})"

    def _free_finished(self, holders: Iterable[str]) -> None:
        """Free the slots of finished runs. A killed worker frees none, and the daemon does it only after minutes."""
        for run_id in holders:
            run = self.instance.get_run_by_id(run_id)
            if run is None or run.is_finished:
                self.instance.event_log_storage.free_concurrency_slots_for_run(run_id)

    def _queue_again(self) -> None:
        """Leave the queue because no run has the slot or is next; the next claim then joins it again, at a free slot.

        A slot passes to the next run in the queue when it is freed. A claim looks for a free slot first and joins the
        queue afterwards. If the slot is freed in between, no run is next, and this run would wait forever.
        """
        self.instance.event_log_storage.free_concurrency_slot_for_step(self.run_id, self.step_key)


def locks_of(context: dg.OpExecutionContext) -> TableLocks:
    """Return the locks of the step of a context."""
    return TableLocks(context.instance, context.run_id, context.get_step_execution_context().step.key, context.log)
