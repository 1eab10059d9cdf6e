"""Replaces errors of Spark by errors of this library, in classic and Connect sessions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, TypeAlias

from pyspark.errors.exceptions import captured

Explanation: TypeAlias = Callable[[str], Exception | None]
"""Returns the error for the text of a Spark error, or ``None`` if the text does not match."""

_CONNECT_CLIENT: Final = "pyspark.sql.connect.client.core"
"""The module that raises the errors of Connect. It is loaded if the process has a Connect session."""


def explain_errors(explained: Explanation) -> None:
    """Raise the error that the function finds in the text of a Spark error from now on. Idempotent."""
    for module in (captured, sys.modules.get(_CONNECT_CLIENT)):
        if module is not None:
            _explain_errors_of(module, explained)


def _explain_errors_of(module: ModuleType, explained: Explanation) -> None:
    convert: Callable[..., Any] = vars(module)["convert_exception"]
    known: tuple[Explanation, ...] = getattr(convert, "explanations", ())
    if explained in known:
        return

    def converted(*error: Any, **details: Any) -> Any:  # noqa: ANN401 - any error of the JVM
        plain = convert(*error, **details)
        return explained(str(plain)) or plain

    converted.explanations = (*known, explained)  # type: ignore[attr-defined]  # an attribute of the function
    module.convert_exception = converted  # type: ignore[attr-defined]  # a function of the module
