"""The copies of the options of a table in the list of a catalog. No engine reads them; people do."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from table_format.model.schema import TableSchema
from table_format.options.bucket import BUCKET_KEY
from table_format.options.identity import PARTITION, PRIMARY_KEY
from table_format.secrets import shown_options

_log = logging.getLogger(__name__)


def copied_options(schema: TableSchema, *, key_length: int, value_length: int) -> Mapping[str, str]:
    """Return the options and keys of a table as Java copies them.

    Those with more letters than the list has place for are left out, with a warning.
    """
    keys = {
        PRIMARY_KEY.key: schema.primary_keys,
        PARTITION.key: schema.partition_keys,
        BUCKET_KEY.key: schema.bucket_keys,
    }
    given = {**schema.options, **{key: ",".join(columns) for key, columns in keys.items() if columns}}
    properties = shown_options(given)
    for key, value in given.items():
        if len(key) > key_length or len(value) > value_length:
            _log.warning("option '%s' of the table is too long to be copied to the database of the catalog", key)
            del properties[key]
    return properties
