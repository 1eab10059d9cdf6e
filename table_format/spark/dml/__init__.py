"""UPDATE, DELETE and MERGE as Spark jobs, in one commit each.

Spark reads the table, evaluates expressions and joins; its tasks write. The driver sees counts, file names and
metadata, but no rows.

* ``statements`` is the entry point: it checks a statement, runs it, and repeats it after a conflict.
* ``target`` and ``numbered_rows`` return the state of the table as a DataFrame. Rows of a table without a primary key
  have the name of their file and their position in it.
* ``clauses``, ``store_assignment`` and ``matching`` convert clauses, values and the condition of a MERGE to
  Spark columns.
* ``changed_rows`` returns the changed rows as a DataFrame. It is fully evaluated and persisted before any file is
  written, so a statement that fails because of a value or an ambiguous match has written nothing.
* ``keyed_tables`` and ``append_tables`` write it.
"""
