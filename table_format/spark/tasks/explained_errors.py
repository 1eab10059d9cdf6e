"""Replaces errors of Spark by errors of this library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pyspark.errors.exceptions import captured

Explanation: TypeAlias = Callable[[str], Exception | None]
"""Returns the error for the text of a Spark error, or ``None`` if the text does not match."""


def explain_errors(explained: Explanation) -> None:
    """Raise the error that the function finds in the text of a Spark error from now on. Idempotent."""
    convert: Callable[[Any], Any] = captured.convert_exception
    known: tuple[Explanation, ...] = getattr(convert, "explanations", ())
    if explained in known:
        return

    def converted(e: Any) -> Any:  # noqa: ANN401 - any error of the JVM
        plain = convert(e)
        return explained(str(plain)) or plain

    converted.explanations = (*known, explained)  # type: ignore[attr-defined]  # an attribute of the function
    captured.convert_exception = converted
