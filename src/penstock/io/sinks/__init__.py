"""Sinks that take batches: a file per format; `registry` finds them by name.

    INTO delta 'path'                               delta.py
    INTO kafka 'host:port' OPTIONS (topic 'name')   kafka_topics.py
    INTO postgres 'uri' OPTIONS (table 'name')      postgres.py, postgres_table.py
    INTO redis 'uri' OPTIONS (key 'name')           redis_streams.py

Each batch is written in one transaction of the sink, together with a mark: the application (which
query of which checkpoint writes) and the number of the batch. A batch that Spark repeats after a
crash finds its mark, and is not written again. So every row is there exactly once, as long as the
checkpoint is kept. Kafka is the exception: there every row is at least once, with the mark in the
headers of its message.

The packages that talk to these sinks are extras of Penstock, and are imported where a sink is
opened.
"""
