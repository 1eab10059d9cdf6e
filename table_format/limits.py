"""Every hard bound in one place. A file beyond a bound is refused before memory is given to it."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

MAX_JSON_BYTES: Final = 64 * MIB
"""Snapshot, schema, tag, consumer and statistics files."""

MAX_JSON_DEPTH: Final = 64

MAX_JSON_MARKS: Final = 1_000_000
"""Commas and colons of one JSON file: as many members and items at most. A schema of ``MAX_COLUMNS`` has a tenth."""

MAX_HINT_BYTES: Final = 1 * MIB
"""The hints ``LATEST`` and ``EARLIEST``, which hold one number."""

MAX_UNANNOUNCED_BYTES: Final = 16 * MIB
"""A manifest or index up to this size is read before its size is compared with what is announced."""

MAX_AVRO_BYTES: Final = 512 * MIB
"""One manifest, manifest list or index manifest, as stored."""

MAX_AVRO_BLOCK_EXPANSION: Final = 64
"""Decompressed bytes of an Avro block for each stored byte ..."""

MAX_AVRO_BLOCK_BYTES: Final = 256 * MIB
"""... and never more than this."""

MIN_AVRO_BLOCK_ALLOWANCE: Final = 1 * MIB
"""A block may always expand to this much, whatever its stored size."""

MAX_AVRO_EXPANSION: Final = 256
"""Decompressed bytes of all blocks of an Avro file for each byte of it ..."""

MIN_AVRO_ALLOWANCE: Final = 64 * MIB
"""... or this much: entries of wide tables may be long and all but equal."""

MIN_LIST_ALLOWANCE: Final = 8 * MIB
"""What a manifest list may always expand to, whose entries are short."""

MIN_ENTRIES_ALLOWANCE: Final = 65_536
"""A manifest or index manifest may always have so many entries, and one more for each of its bytes."""

MIN_LISTED_ALLOWANCE: Final = 16_384
"""A manifest list may always name so many manifests, and one more for each 8 of its bytes: names hold UUIDs."""

LISTED_BYTES: Final = 8

MAX_DELETION_VECTOR_BYTES: Final = 544 * MIB
"""One deletion vector: a bitmap of 2 to the 32 rows without any saving."""

MAX_FILE_INDEX_BYTES: Final = 512 * MIB
"""One index of one column of a data file: a bloom filter has 256 MiB at most."""

MAX_FILE_INDEX_HEAD_BYTES: Final = 16 * MIB
"""What tells the places of all indexes of a data file."""

MAX_ORC_BLOCK_BYTES: Final = 64 * MIB
"""One compressed chunk of an ORC file, expanded."""

MAX_NAME_BYTES: Final = 255
"""Database, table, column, tag, branch and consumer names, UTF-8."""

MAX_FILE_NAME_BYTES: Final = 255
"""One name in a directory: what local file systems take."""

MAX_PATH_BYTES: Final = 4095
"""A whole path: what local file systems take."""

TEMPORARY_NAME_BYTES: Final = 42
"""What a file's name grows by while it is written: dots, a UUID and ``tmp``."""

MAX_COMMIT_USER_BYTES: Final = 4096

MAX_SEQUENCE_NUMBER: Final = 1 << 62
"""Of one row. They count the rows of a bucket, so none comes near; and a writer always has numbers left."""

MAX_INT: Final = (1 << 31) - 1
"""Buckets, levels and field ids are integers of 32 bits."""

MAX_COLUMNS: Final = 16_384

MAX_BUCKETS: Final = 32_768
