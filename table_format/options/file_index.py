"""Indexes over columns of single data files, by which readers skip files (format chapter 09, section 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_format.model.file_index import BLOOM_FILTER, column_of
from table_format.options.declare import Option, OptionPattern
from table_format.options.values import MAX_INT, boolean, integer, names, probability, size

BLOOM_COLUMNS: Option[tuple[str, ...]] = Option(
    "file-index.bloom-filter.columns",
    names,
    (),
    "Columns with a bloom filter in each new data file: a filter with = or IN skips files that do not have the value. "
    "m[key] is the value that the column m, a MAP with text as keys, has for one key.",
)
BLOOM_FPP = OptionPattern(
    "file-index.bloom-filter.<column>.fpp",
    probability,
    "Share of the files without a value that may be read for it nevertheless; 0.1 when absent.",
)
BLOOM_ITEMS = OptionPattern(
    "file-index.bloom-filter.<column>.items",
    integer(1, MAX_INT),
    "Distinct values in a file that the filter is made for; 1000000 when absent.",
)
IN_MANIFEST_THRESHOLD = Option(
    "file-index.in-manifest-threshold",
    size(),
    500,
    "The indexes of a data file lie in the manifest up to this size together, otherwise in a file beside it.",
)
READ_ENABLED = Option("file-index.read.enabled", boolean, True, "Use file indexes to skip files.")


@dataclass(frozen=True, slots=True)
class FileIndexOptions:
    """Which columns have indexes in files, and with which settings."""

    bloom_columns: tuple[str, ...] = BLOOM_COLUMNS.field()
    bloom_fpp: Mapping[str, float] = BLOOM_FPP.field()
    bloom_items: Mapping[str, int] = BLOOM_ITEMS.field()
    in_manifest_threshold: int = IN_MANIFEST_THRESHOLD.field()
    read_enabled: bool = READ_ENABLED.field()

    @property
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that each type of index is made for."""
        return {BLOOM_FILTER: self.bloom_columns} if self.bloom_columns else {}

    def settings_of(self, column: str) -> Mapping[str, object]:
        """What is said of the index of one column; what is said of a map counts for all of its keys.

        >>> FileIndexOptions(bloom_items={"m": 5, "m[a]": 7}).settings_of("m[a]")
        {'items': 7}
        """
        found: dict[str, object] = {}
        for name in (column_of(column), column):
            if name in self.bloom_fpp:
                found["fpp"] = self.bloom_fpp[name]
            if name in self.bloom_items:
                found["items"] = self.bloom_items[name]
        return found
