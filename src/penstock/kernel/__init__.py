"""Runs operators over blocks of rows. Knows neither SQL nor Spark, no clock, no thread, no file.

A *block* is a table of rows (Polars). A *buffer* is a queue of blocks and punctuation with one
cursor per reader. An *operator* has `on_batch` and `on_punctuation`, and its *state* beside it:
tables of immutable segments (`segments`: append, merge, cut from the front, drop) and small facts.
State can be described, saved and restored; on disk it is JSON and Arrow IPC.

A *step* takes at most k rows. With k = 1 the kernel is the tuple-at-a-time machine of the
literature; without a limit it is vectorised. One operator code serves both.
"""
