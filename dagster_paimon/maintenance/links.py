"""Creates links from the page of an asset to the maintenance jobs of its table, with the table filled in."""

from __future__ import annotations

from typing import Final, Protocol
from urllib.parse import quote

import dagster as dg

_LINKED: Final = {
    "compact": ("compact_table", "compact"),
    "maintain": ("maintain_table", "maintain"),
    "roll back": ("rollback_table", "rollback"),
    "tag": ("create_tag", "tag"),
    "verify": ("verify_table", "verify"),
}


class HasOrigin(Protocol):
    """A run."""

    @property
    def remote_job_origin(self) -> object:
        """The location of its job; ``None`` for a job without a workspace."""
        ...


def location_of(run: HasOrigin) -> str | None:
    """Return the code location of a run as in paths of the UI: ``repository@location``."""
    origin = getattr(run.remote_job_origin, "repository_origin", None)
    if origin is None:
        return None
    return f"{origin.repository_name}@{origin.code_location_origin.location_name}"


def job_links(table: str, location: str) -> dg.MarkdownMetadataValue:
    """Return links to the launchpads of the usual maintenance jobs, each with the table in its configuration.

    ``location`` is the name of the code location, or ``repository@location``. Put them into the metadata of an asset::

        @dg.asset(metadata={"maintenance": job_links("shop.orders", "my_location")})

    >>> job_links("shop.orders", "lakehouse").value.split(", ")[1]
    '[maintain](/locations/__repository__@lakehouse/jobs/maintain_table/playground/setup?config=ops%3A%20%7Bmaintain%3A%20%7Bconfig%3A%20%7Btable%3A%20shop.orders%7D%7D%7D)'
    """
    place = location if "@" in location else f"__repository__@{location}"
    return dg.MetadataValue.md(", ".join(_link(label, table, place, *target) for label, target in _LINKED.items()))


def _link(label: str, table: str, place: str, job: str, op: str) -> str:
    config = f"ops: {{{op}: {{config: {{table: {table}}}}}}}"
    return f"[{label}](/locations/{quote(place, safe='@')}/jobs/{job}/playground/setup?config={quote(config, safe='')})"
