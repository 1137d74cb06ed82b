"""Checkpoints and operator state in Spark's store."""
