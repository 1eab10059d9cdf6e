"""How a statement is committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatementCommit:
    """The name of a statement, and the user, identifier and properties of its commit."""

    operation: str
    commit_user: str | None
    identifier: int | None
    properties: Mapping[str, str] | None
