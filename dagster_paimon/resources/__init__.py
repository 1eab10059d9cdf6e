"""The resources of assets, jobs and sensors: the catalog and the Spark session, with their secrets."""
