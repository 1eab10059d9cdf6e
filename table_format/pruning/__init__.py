"""Pruning: derives from a row filter which partitions, buckets, files and row groups to read. Pure: no file is
opened here.

Every stage of a scan uses one ``Pruning`` value. ``read_kind`` defines what each kind of read may leave out.
``bucket_keys`` turns a filter into bucket hashes, ``file_bounds`` turns statistics into bounds.
"""
