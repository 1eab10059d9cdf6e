"""The former location of the Spark resource, which is now in ``dagster_paimon``. This alias stays for one release."""

from __future__ import annotations

import warnings

from dagster_paimon.resources.spark import SparkMode, SparkResource

warnings.warn("resources.spark has moved to dagster_paimon", DeprecationWarning, stacklevel=2)

__all__ = ["SparkMode", "SparkResource"]
