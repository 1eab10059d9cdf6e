"""Checks of arguments of Spark's types, which the other kinds of DataFrame and of catalogs are taken for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from table_format.model.arguments import refuse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark_frame(value: DataFrame, argument: str) -> DataFrame:
    """Return a DataFrame of Spark, classic or Connect.

    Raises:
        InvalidInputError: it is something else, such as a DataFrame of pandas.
    """
    if not isinstance(value, DataFrame):
        refuse(argument, "a pyspark DataFrame, which spark.createDataFrame makes of other rows", value)
    return value


def spark_session(value: SparkSession, argument: str) -> SparkSession:
    """Return a session of Spark, classic or Connect.

    Raises:
        InvalidInputError: it is something else.
    """
    if not hasattr(value, "createDataFrame"):
        refuse(argument, "a SparkSession", value)
    return value
