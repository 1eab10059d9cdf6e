"""The examples in docstrings of the integration and of the shop run and show what they say."""

from __future__ import annotations

import pytest

from tests.docs.test_docstrings import modules_with_examples, run_examples


@pytest.mark.parametrize("name", modules_with_examples("dagster_paimon", "resources", "assets", "jobs", "sensors"))
def test_the_examples_of_a_module_run(name: str) -> None:
    run_examples(name)
