"""The rows of a plan that the filter selects, if they are known without opening the files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyroaring import BitMap, FrozenBitMap

from table_format.indexes.deletion_vectors import DeletionVectors, vectors_of
from table_format.kernels.predicate import in_partition, normalise
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Literal, Predicate
from table_format.model.split import DataSplit, SplitContent
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan


@dataclass(frozen=True, slots=True)
class KnownRows:
    """The selected rows of one file, including deleted ones: ``selected``, or all rows if that is ``None``.

    ``is_known`` says whether these are exactly the selected rows; if not, nothing is known. ``deleted`` is an upper
    bound of the number of deleted rows.
    """

    file: DataFileMeta
    is_known: bool
    selected: FrozenBitMap | None
    deleted: int

    @property
    def count(self) -> int:
        """A lower bound of the number of selected rows that are not deleted."""
        if not self.is_known:
            return 0
        rows = self.file.row_count if self.selected is None else len(self.selected)
        return max(rows - self.deleted, 0)

    @property
    def positions(self) -> BitMap:
        """The positions of the rows, deleted ones among them."""
        return BitMap(range(self.file.row_count)) if self.selected is None else BitMap(self.selected)


def is_read_as_stored(split: DataSplit) -> bool:
    """Whether the rows of the split's files are rows of the result."""
    return split.raw_convertible and split.content is SplitContent.STATE


class PlannedRows:
    """What a plan knows about the rows of its files. ``facts`` are those of its table or branch."""

    def __init__(self, facts: TableFacts, plan: Plan) -> None:
        self.facts = facts
        self.plan = plan
        self._condition = None if plan.predicate is None else normalise(plan.predicate)

    def condition(self, split: DataSplit) -> Predicate | None:
        """Return the condition on rows of the split's partition; ``None`` if all rows match.

        Conditions on partition columns hold for all rows of a partition, or for none.
        """
        if self._condition is None:
            return None
        partitions = self.facts.partitions
        rest = in_partition(self._condition, partitions.fields, partitions.values(split.partition))
        return None if rest == Literal(True) else rest

    def of_split(self, split: DataSplit) -> Iterator[KnownRows]:
        """Return the known rows of each file of a split that needs no merge."""
        meets_all = self.condition(split) is None
        for place, file in enumerate(split.files):
            marks = split.deletion_files[place] if split.deletion_files else None
            deleted = 0 if marks is None else marks.range.cardinality
            selected = None if meets_all else self.plan.exact_rows.get(file.file_name)
            is_known = meets_all or selected is not None
            yield KnownRows(file, is_known, selected, file.row_count if deleted is None else deleted)

    def deletions(self, split: DataSplit) -> DeletionVectors | None:
        """The deletion vectors of a split; each is read when it is needed."""
        return vectors_of(self.facts.store.io, split.files, split.deletion_files)
