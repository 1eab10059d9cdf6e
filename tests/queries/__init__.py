"""Random queries and writes on Spark, compared with the one-process engine: ``python -m tests.queries``.

A table is made by one process. A query is a chain of operations on a frame of that table; the same chain runs on a
frame of plain Spark that holds the rows one process reads. Many queries are one job: their rows travel as texts with
the number of the query. A query is text of Python, so that a failure is printed as a script.
"""
