"""A catalog on a REST server, as that of Apache Paimon in Java."""
