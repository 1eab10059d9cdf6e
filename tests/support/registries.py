"""Registrations that last as long as a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from table_format.registry import Registry


@contextmanager
def forgotten_again(*registries: Registry) -> Iterator[None]:
    """What is registered within is not known after."""
    before = [registry._members for registry in registries]
    try:
        yield
    finally:
        for registry, members in zip(registries, before, strict=True):
            registry._members = members
