"""When compiled kernels are used, and what happens if they are not available."""

from __future__ import annotations

import numba
import pytest

from table_format.errors import UnsupportedFeature
from table_format.kernels.compiled import MAX_COMPILED_ROWS, Backend, compiled, kernels_for


@pytest.fixture
def forgotten():
    compiled.cache_clear()
    yield
    compiled.cache_clear()


def test_numba_is_not_loaded_for_a_small_input(forgotten):
    assert kernels_for(1000) is None
    assert compiled.cache_info().currsize == 0


def test_kernels_that_are_loaded_already_serve_small_inputs_too(forgotten):
    compiled()
    assert kernels_for(1000) is not None


def test_numpy_can_be_forced_and_takes_what_32_bits_cannot_count():
    assert kernels_for(10**8, Backend.NUMPY) is None
    assert kernels_for(MAX_COMPILED_ROWS + 1, Backend.AUTO) is None


def test_where_numba_is_switched_off_numpy_takes_over(forgotten, monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert kernels_for(10**8) is None
    with pytest.raises(UnsupportedFeature, match="numba is not usable"):
        kernels_for(10, Backend.COMPILED)


def test_without_a_place_for_machine_code_kernels_are_compiled_for_the_process(forgotten, monkeypatch):
    original = numba.njit
    asked = []

    def njit(*args, cache=False, **kwargs):
        asked.append(cache)
        if cache:
            message = "cannot cache function: no locator available"
            raise RuntimeError(message)
        return original(*args, **kwargs)

    monkeypatch.setattr(numba, "njit", njit)
    assert compiled() is not None
    assert asked[0] is True
    assert not any(asked[1:])
