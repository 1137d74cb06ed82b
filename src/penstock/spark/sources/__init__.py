"""Streams that Spark reads, and those that we read for it."""
