"""Checks that the tables, partitions and buckets of a configuration exist, before any work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from dagster_paimon.tables.measure import live_entries
from dagster_paimon.tables.selection import TableSelection
from table_format import Catalog, Table
from table_format.engine import ManifestEntry, TableFacts
from table_format.engine.support import nearest, partition_spec
from table_format.errors import InvalidInputError, TableNotFound

_SHOWN: Final = 8


def resolve(catalog: Catalog, names: Sequence[str]) -> tuple[str, ...]:
    """Return the tables that names and patterns select, each once.

    Raises:
        InvalidInputError: nothing is named, a name is malformed, or a pattern matches no table.
        TableNotFound: a named table does not exist.
    """
    if not names:
        message = "no table is given; set table, tables or pattern"
        raise InvalidInputError(message)
    found: list[str] = []
    for name in names:
        selection = TableSelection.of(name)
        selected = selection.existing(catalog)
        if not selected and selection.plain_names:
            known = _all(catalog)
            likely = nearest(name, known, cutoff=0.6)
            hint = f"did you mean {likely[0]}?" if likely else f"the tables are {_listed(known)}"
            message = f"table {name} does not exist; {hint}"
            raise TableNotFound(message)
        if not selected:
            message = f"no table matches '{name}'; the tables are {_listed(_all(catalog))}"
            raise InvalidInputError(message)
        found += selected
    return tuple(dict.fromkeys(found))


def require_partitions(table: Table, partitions: Sequence[Mapping[str, str]], buckets: Sequence[int] = ()) -> None:
    """Refuse partitions and buckets without rows, because work on them would change nothing.

    Raises:
        InvalidInputError: a column is not a partition column, or a partition or bucket has no live file.
        InvalidData: a value does not fit its column.
    """
    if not partitions and not buckets:
        return
    facts = table.facts
    wanted = [partition_spec(facts.schema, partition) for partition in partitions]
    entries = live_entries(facts)
    chosen = list(entries) if not wanted else []
    for given, spec in zip(partitions, wanted, strict=True):
        inside = [entry for entry in entries if _is_in(facts, entry, spec)]
        if not inside:
            message = f"{facts.name} has no partition {_shown(given)}; its partitions are {_partitions(facts, entries)}"
            raise InvalidInputError(message)
        chosen += inside
    present = sorted({entry.bucket for entry in chosen})
    missing = sorted(set(buckets) - set(present))
    if missing:
        message = (
            f"{facts.name} has no bucket {_listed(map(str, missing))} in these partitions; found "
            f"{_listed(map(str, present))}"
        )
        raise InvalidInputError(message)


def _is_in(facts: TableFacts, entry: ManifestEntry, spec: Mapping[str, object]) -> bool:
    values = dict(zip(facts.schema.partition_keys, facts.partitions.values(entry.partition), strict=True))
    return all(values[name] == value for name, value in spec.items())


def _partitions(facts: TableFacts, entries: Sequence[ManifestEntry]) -> str:
    return _listed(sorted({facts.partitions.spec_text(entry.partition) for entry in entries}))


def _shown(partition: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in partition.items())


def _all(catalog: Catalog) -> tuple[str, ...]:
    return TableSelection.of("*").names(catalog)


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _SHOWN
    return (", ".join(listed[:_SHOWN]) or "none") + (f" and {more} more" if more > 0 else "")
