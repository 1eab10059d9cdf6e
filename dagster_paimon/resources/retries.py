"""Retries of ops and assets that end when a person terminates the run.

Dagster asks the retry policy of an op also when the op was interrupted, and then starts it again.
"""

from __future__ import annotations

import sys

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError


class RetryUnlessTerminated(dg.RetryPolicy):
    """A retry policy for failures. An op that was interrupted, as by "Terminate" in the UI, is not tried again.

    Example::

        @dg.asset(retry_policy=RetryUnlessTerminated(max_retries=2, delay=5))
        def orders() -> pa.Table: ...
    """

    def calculate_delay(self, attempt_num: int) -> float:
        """The seconds to wait before an attempt.

        Raises:
            DagsterExecutionInterruptedError, KeyboardInterrupt: the attempt before was interrupted.
        """
        # Dagster calls this while it handles the error of the attempt.
        interrupt = sys.exception()
        if isinstance(interrupt, DagsterExecutionInterruptedError | KeyboardInterrupt):
            raise interrupt
        return super().calculate_delay(attempt_num)
