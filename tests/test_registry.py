"""Things of one kind by name."""

from __future__ import annotations

import pytest

from table_format.errors import AlreadyExistsError, InvalidInputError
from table_format.registry import Registry


def letters() -> Registry[str]:
    return Registry("letter", ["a", "b"], name_of=lambda letter: letter)


def test_what_is_registered_is_found_in_the_order_of_registration() -> None:
    registry = letters()
    registry.register("c")
    assert list(registry) == ["a", "b", "c"]
    assert registry["c"] == "c"


def test_a_name_that_is_taken_is_refused() -> None:
    registry = letters()
    with pytest.raises(AlreadyExistsError, match="letter 'a' already exists; choose another name"):
        registry.register("a")
    assert list(registry) == ["a", "b"]


@pytest.mark.parametrize("name", ["", " ", "A", " a"])
def test_a_name_that_nobody_could_give_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="expected a name in lower case"):
        letters().register(name)


def test_a_registration_does_not_disturb_who_iterates() -> None:
    registry = letters()
    for number, _ in enumerate(registry):
        registry.register(f"x{number}")
    assert len(registry) == 4
