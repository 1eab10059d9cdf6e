"""The earlier location of ``table_format.java``. It is deprecated and will be removed in the next release."""

from __future__ import annotations

import sys
import warnings

from table_format.errors import JavaNotFound
from table_format.java import OLDEST, JavaRuntime, default_launchers, find_java, java_version, main, parse_version

__all__ = [
    "OLDEST",
    "JavaNotFound",
    "JavaRuntime",
    "default_launchers",
    "find_java",
    "java_version",
    "main",
    "parse_version",
]

warnings.warn("dagster_paimon.resources.java is now table_format.java", DeprecationWarning, stacklevel=2)

if __name__ == "__main__":
    sys.exit(main())
