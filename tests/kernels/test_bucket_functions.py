"""The bucket functions ``mod`` and ``hive`` compared with the buckets of Apache Paimon."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format.errors import UnsupportedFeature
from table_format.kernels.bucket_functions import hive_buckets, mod_buckets
from table_format.kernels.values import array_of
from table_format.model.types import ArrayType, BigIntType, DoubleType, FloatType, IntType, VarCharType
from tests.codecs.vectors import bucket_counts, function_vectors

FUNCTIONS = {"mod": lambda t, column, n: mod_buckets(t, column, n), "hive": lambda t, c, n: hive_buckets([t], [c], n)}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_buckets_are_those_of_paimon(function):
    for t, values, expected in function_vectors(function):
        column = array_of(values, t)
        for i, count in enumerate(bucket_counts()):
            if expected:
                buckets = FUNCTIONS[function](t, column, count)
                assert buckets.tolist() == [buckets_by_count[i] for buckets_by_count in expected], t
            else:
                with pytest.raises(UnsupportedFeature):
                    FUNCTIONS[function](t, column, count)


def test_hive_combines_columns_and_takes_nulls_as_zero():
    columns = [pa.array([2, None], pa.int32()), pa.array(["é", None])]
    text = (-61 * 31) + -87  # the bytes c3 a9, signed
    assert hive_buckets([IntType(), VarCharType()], columns, 1 << 30).tolist() == [(62 + text) % (1 << 30), 0]


def test_hive_treats_all_nans_and_both_zeros_as_equal():
    for t, arrow in ((FloatType(), pa.float32()), (DoubleType(), pa.float64())):
        zero, negative_zero, nan, negative_nan = hive_buckets(
            [t], [pa.array([0.0, -0.0, float("nan"), float("-nan")], arrow)], 1 << 30
        ).tolist()
        assert zero == negative_zero == 0
        assert nan == negative_nan != 0


def test_mod_refuses_what_is_not_one_integer():
    with pytest.raises(UnsupportedFeature, match="must be one INT or BIGINT"):
        mod_buckets(VarCharType(), pa.array(["a"]), 2)
    assert mod_buckets(BigIntType(), pa.array([-(1 << 63)]), 7).tolist() == [(-(1 << 63)) % 7]


def test_hive_refuses_nested_keys():
    with pytest.raises(UnsupportedFeature):
        hive_buckets([ArrayType(IntType())], [pa.array([[1]], pa.list_(pa.int32()))], 2)
