"""The method ``verify`` of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from table_format.table.facts import HasFacts
from table_format.table.verify.report import VerifyReport
from table_format.table.verify.verify import verify_table


class VerifyMethods(HasFacts, Protocol):
    """The method ``verify`` of a table."""

    def verify(
        self, *, depth: str = "files", partitions: Sequence[Mapping[str, object]] | None = None, repair: bool = False
    ) -> VerifyReport:
        """Check that the files, metadata and rows of the table agree; for the main branch, also those of all other
        branches.

        ``depth`` is ``metadata`` (snapshots, manifests, tags, hints; no data file is opened), ``files`` (each file
        exists with its size and number of rows, and indexes can be read) or ``rows`` (also each row of the latest
        state). With ``partitions``, only their files are checked. Nothing is changed, except that ``repair`` corrects
        wrong hints.

        >>> report = table.verify()
        >>> report.is_healthy, report.findings
        (True, ())

        Raises:
            InvalidInputError: the depth does not exist, or a partition names other columns.
            UnsupportedFeature: with ``rows``, the table has an unsupported feature that affects its rows.
            OSError: the store failed.
        """
        return verify_table(self, depth=depth, partitions=partitions, repair=repair)
