"""Indexes of data files: deletion vectors, file indexes, hash indexes and key indexes."""
