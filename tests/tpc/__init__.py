"""The queries of TPC-H and TPC-DS on tables, compared with the same queries on plain rows."""
