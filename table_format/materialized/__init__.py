"""Materialized tables: what their options say, what the last refresh has read, and whether the rows are too old.

A refresh replaces all rows by those of the query, in one snapshot. It stores in the properties of the snapshot which
states of the sources it has read, so no other file can disagree with the rows. Engines run the query;
``table_format.spark`` does.
"""
