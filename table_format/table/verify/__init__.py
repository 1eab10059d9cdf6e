"""Verification of a table: whether its files, its metadata and its rows agree with each other."""
