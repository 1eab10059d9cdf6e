"""Keys of type CHAR in ORC, which removes the spaces at the end of a CHAR value: two keys can become one."""

from __future__ import annotations

from collections.abc import Collection

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.model.types import CharType
from table_format.options.file_formats import ORC
from table_format.options.files import FORMAT
from table_format.options.table_options import TableOptions


def char_keys(schema: TableSchema, formats: Collection[str]) -> tuple[str, ...]:
    """Return the columns of the primary key and of the bucket key that lose spaces in files of one of these formats."""
    if ORC.name not in formats:
        return ()
    keys = dict.fromkeys((*schema.trimmed_primary_keys, *schema.bucket_keys))
    return tuple(name for name in keys if isinstance(schema.field(name).type, CharType))


def check_char_keys(old: TableSchema, new: TableSchema) -> None:
    """Refuse that a table with rows begins to write keys of type CHAR to ORC.

    Rows that are in other files keep their spaces, and rows that come later lose them. So no row could update or delete
    a key with spaces any more.

    Raises:
        InvalidOption: names the key.
    """
    before, after = (TableOptions.parse(schema.options).written_formats for schema in (old, new))
    lost = [name for name in char_keys(new, after) if ORC.name not in before]
    if lost:
        message = (
            f"column '{lost[0]}' is a key of type CHAR, and the table has rows; ORC removes spaces at the end of CHAR "
            "values, so a key that has some would become another one; keep the format, or copy the rows to a new table"
        )
        raise InvalidOption(FORMAT.key, message)
