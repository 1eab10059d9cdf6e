"""Measurements: every figure of the documentation comes from here and can be reproduced."""
