"""Indexes beside data files: deletion vectors, file indexes, hash and key indexes."""
