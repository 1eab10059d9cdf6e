"""What a filter over rows says about partitions, buckets, files and row groups. Pure: no file is opened here.

``Pruning`` is the one value that every stage of a scan uses; ``read_kind`` holds the rules of what may be left out
in which kind of read; ``bucket_keys`` and ``file_bounds`` turn a filter into bucket hashes and statistics into bounds.
"""
