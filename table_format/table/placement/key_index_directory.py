"""Where this machine keeps the local indexes of keys of a table: a directory for the table, in it one for each branch.

Apart from the indexes themselves, so that a catalog can delete them without the database they are kept in.
"""

from __future__ import annotations

import shutil
from hashlib import blake2b
from pathlib import Path

from table_format.runtime import Runtime, default_cache_directory


def key_index_directory(runtime: Runtime, root: str, branch: str) -> Path:
    """The directory of the table at a path, or of a branch of it."""
    return _of_table(runtime, root) / _hashed(branch)


def forget_key_indexes(runtime: Runtime, root: str) -> None:
    """Delete what this machine keeps of a table that is gone, as far as that goes."""
    shutil.rmtree(_of_table(runtime, root), ignore_errors=True)


def _of_table(runtime: Runtime, root: str) -> Path:
    return Path(runtime.cache_directory or default_cache_directory()) / "key-index" / _hashed(root)


def _hashed(name: str) -> str:
    return blake2b(name.encode(), digest_size=16).hexdigest()
