"""The laws of servers are asserted in a module that pytest does not find by itself."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "tests.catalog.jdbc.server_laws", "tests.catalog.view_laws", "tests.catalog.interrupted_changes"
)
