"""Golden tables that wait for a feature: the feature a refusal names, and patterns of ``case/table``.

Strict: a table that is listed must be refused for exactly that feature, and one that is not listed must read equal. The
first feature whose pattern fits counts.
"""

from __future__ import annotations

LATEST_ONLY = frozenset({"pk_aggregation/db.f_remove_record_compacted"})
"""Tables with an option that the release that wrote them did not know yet: what it read of files that were still to be
merged, no later release reads. Compaction then settled the values for all."""

WAITING: dict[str, tuple[str, ...]] = {
    "type VARIANT": ("variant_type/*",),
}
