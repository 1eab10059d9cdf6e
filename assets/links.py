"""Creates links from the page of an asset to the maintenance jobs of its table."""

from __future__ import annotations

from typing import Final

import dagster as dg

from dagster_paimon import job_links

LOCATION: Final = "lakehouse"
"""The name of the code location in workspace.yaml."""


def maintenance_links(table: str) -> dict[str, dg.MarkdownMetadataValue]:
    """Return the metadata of an asset with links to the maintenance jobs of its table."""
    return {"maintenance": job_links(table, LOCATION)}
