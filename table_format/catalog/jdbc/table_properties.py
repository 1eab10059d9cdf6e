"""The copies of the options of a table in the database. No engine reads them; people do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from table_format.model.schema import TableSchema
from table_format.options.bucket import BUCKET_KEY
from table_format.options.identity import PARTITION, PRIMARY_KEY
from table_format.secrets import shown_options

KEY_LENGTH: Final = 255
"""Letters of a name, and of the key of a property, in the database."""
VALUE_LENGTH: Final = 1000
"""Letters of the value of a property in the database."""

_log = logging.getLogger(__name__)


def properties_of(schema: TableSchema) -> Mapping[str, str]:
    """Return the options and keys of a table as Java copies them. Those too long for their columns are left out."""
    keys = {
        PRIMARY_KEY.key: schema.primary_keys,
        PARTITION.key: schema.partition_keys,
        BUCKET_KEY.key: schema.bucket_keys,
    }
    given = {**schema.options, **{key: ",".join(columns) for key, columns in keys.items() if columns}}
    properties = shown_options(given)
    for key, value in given.items():
        if len(key) > KEY_LENGTH or len(value) > VALUE_LENGTH:
            _log.warning("option '%s' of the table is too long to be copied to the database of the catalog", key)
            del properties[key]
    return properties
