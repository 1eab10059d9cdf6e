"""The catalog in a relational database (format chapter 15, section 2; Java ``JdbcCatalog``)."""
