"""Real processes for races: forked from a server that has imported everything, so that one costs milliseconds."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.races.workers"])


class Worker:
    """One process and the pipe it reports through; what it has sent survives its death."""

    def __init__(self, target: Callable[..., None], *arguments: object) -> None:
        self._reports, sender = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(target=target, args=(*arguments, sender), daemon=True)
        self._process.start()
        sender.close()

    def kill(self) -> None:
        """End the process by SIGKILL, wherever it is."""
        self._process.kill()

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl-C does."""
        self.send_signal(signal.SIGINT)

    def reports_within(self, seconds: float) -> bool:
        """Wait for a report for so long at most; whether there is one, or the process has ended."""
        return self._reports.poll(seconds)

    def send_signal(self, number: int) -> None:
        """Send the process a signal; nothing happens when it is dead."""
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, number)

    def report_now(self) -> Any:
        """What the process has sent, ``None`` when there is nothing yet; raises ``EOFError`` when it is dead."""
        return self._reports.recv() if self._reports.poll() else None

    def killed_by(self) -> int | None:
        """The signal the process died of, once its reports are at an end; ``None`` when it ended by itself."""
        self._process.join()
        code = self._process.exitcode
        return -code if code is not None and code < 0 else None

    def next_report(self) -> object:
        """The next thing the process sent; raises ``EOFError`` when it is dead and has sent no more."""
        return self._reports.recv()

    def reports(self) -> list[object]:
        """Everything the process sent until it ended, by itself or killed."""
        found = []
        try:
            while True:
                found.append(self._reports.recv())
        except EOFError:
            self._process.join()
            return found


def run_together(target: Callable[..., None], arguments: Sequence[tuple[object, ...]]) -> list[list[object]]:
    """Run the target in one process for each tuple of arguments, all released at once; what each reported."""
    barrier = CONTEXT.Barrier(len(arguments))
    workers = [Worker(target, *each, barrier) for each in arguments]
    return [worker.reports() for worker in workers]


def report(sender: Connection, what: object) -> None:
    """Send from within a worker."""
    sender.send(what)
