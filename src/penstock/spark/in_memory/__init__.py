"""Pipelines without Spark: the exchange, the processor and the state of every group, in memory.

Everything of a micro-batch that is ours runs as on Spark; what is Spark's (reading, hashing to
tasks, the state store, retries) is played by a few lines. `penstock verify` and the tests try
arrival orders, restarts and lost workers on it, hundreds a minute.
"""
