"""Catalogs: the databases and tables of a warehouse."""
