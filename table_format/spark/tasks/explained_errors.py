"""Errors of Spark that the library explains: its own error takes the place of what the JVM raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pyspark.errors.exceptions import captured

Explanation: TypeAlias = Callable[[str], Exception | None]
"""The error for the text of one of Spark, if the text shows that."""


def explain_errors(explained: Explanation) -> None:
    """From now on raise what the function finds in the text of an error of Spark; twice is once."""
    convert: Callable[[Any], Any] = captured.convert_exception
    known: tuple[Explanation, ...] = getattr(convert, "explanations", ())
    if explained in known:
        return

    def converted(e: Any) -> Any:  # noqa: ANN401 - whatever the JVM raised
        plain = convert(e)
        return explained(str(plain)) or plain

    converted.explanations = (*known, explained)  # type: ignore[attr-defined]  # a mark on the function
    captured.convert_exception = converted
