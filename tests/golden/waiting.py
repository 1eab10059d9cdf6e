"""Golden tables that wait for a feature: a pattern of ``case/table`` and words of the refusal."""

from __future__ import annotations

WAITING: dict[str, str] = {}
