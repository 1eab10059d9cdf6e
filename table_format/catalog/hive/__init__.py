"""The catalog in a Hive metastore (format chapter 15; Java ``HiveCatalog``)."""
