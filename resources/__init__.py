"""What the assets and jobs are given: the catalog, the Spark session, the IO manager, the landing zone, and how they
report. Nothing here imports pyspark before a session is asked for.
"""
