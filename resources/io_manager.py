"""The former location of the IO manager, which is now in ``dagster_paimon``. This alias stays for one release."""

from __future__ import annotations

import warnings

from dagster_paimon.io.io_manager import AS_OF_TAG, PaimonIOManager

warnings.warn("resources.io_manager has moved to dagster_paimon", DeprecationWarning, stacklevel=2)

__all__ = ["AS_OF_TAG", "PaimonIOManager"]
