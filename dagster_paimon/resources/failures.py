"""Failures of steps that begin with the table and the reason.

Dagster shows the first line of the outermost error in the run, in alerts and in lists. For other errors, this line is
its own, such as "Error occurred while handling output", or "Exceeded max_retries of 2".
"""

from __future__ import annotations

from typing import Protocol

import dagster as dg


class Attempt(Protocol):
    """One attempt of a step."""

    @property
    def op_retry_policy(self) -> dg.RetryPolicy | None:
        """The retry policy of the step."""

    @property
    def previous_attempt_count(self) -> int:
        """The number of earlier attempts."""


def about(subject: str, error: Exception) -> str:
    """Return the text of an error with its subject, because a step may have several tables.

    >>> about("shop.orders", OSError("the disk is full")), about("shop.orders", ValueError("shop.orders is empty"))
    ('shop.orders: the disk is full', 'shop.orders is empty')
    """
    text = str(error) or type(error).__name__
    return text if subject in text else f"{subject}: {text}"


def failure(subject: str, error: Exception, attempt: Attempt, *, is_final: bool) -> dg.Failure:
    """Return the failure of a step; raise it from the error. It is not retried if that ``is_final``.

    The failure of the last attempt asks for no retry either: Dagster would otherwise replace its text.
    """
    policy = attempt.op_retry_policy
    is_last = policy is not None and attempt.previous_attempt_count >= policy.max_retries
    return dg.Failure(description=about(subject, error), allow_retries=not (is_final or is_last))
