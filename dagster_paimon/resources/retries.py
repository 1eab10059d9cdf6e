"""Retries of ops and assets that stop when the run is terminated.

Dagster applies the retry policy of an op even if the op was interrupted, and restarts it.
"""

from __future__ import annotations

import sys

import dagster as dg


class RetryUnlessTerminated(dg.RetryPolicy):
    """A retry policy for failures. An interrupted op, such as by "Terminate" in the UI, is not retried.

    Example::

        @dg.asset(retry_policy=RetryUnlessTerminated(max_retries=2, delay=5))
        def orders() -> pa.Table: ...
    """

    def calculate_delay(self, attempt_num: int) -> float:
        """Return the seconds to wait before an attempt.

        Raises:
            dg.DagsterExecutionInterruptedError, KeyboardInterrupt: the previous attempt was interrupted.
        """
        # Dagster calls this while it handles the error of the attempt.
        interrupt = sys.exception()
        if isinstance(interrupt, dg.DagsterExecutionInterruptedError | KeyboardInterrupt):
            raise interrupt
        return super().calculate_delay(attempt_num)
