"""The host on Spark: the only package that imports pyspark.

A set of queries becomes one Structured Streaming query per partitioning: rows that meet in an
aggregate or a join must come to the same *partition group* (`placement`). A row is late when it
lies below the bound after the earlier micro-batches.

    session, working_session    ours, or the user's: queries run in one derived from it, with the
                                settings they need; the user's own stays as it was
    jvm, java_classes           how Java and the Python workers are started sooner; classes of
                                ours for Java (`java/`)
    masters, shipping,          clusters: their addresses, this package on its way there, and
    executors                   whether executors can run it
    sources/                    any streaming format of Spark; text is read as such, and what does
                                not conform is marked on the JVM and rejected with the reason;
                                parquet, CSV and JSON files are read by the exchange itself; rows
                                made by the program are spooled as files in the checkpoint
    exchange/                   splits rows by a hash of the partitioning key, one Arrow block per
                                group, and sends every group the newest time of the whole stream: a
                                window closes in the batch that completes it, in every group,
                                whether or not the group had rows
    shared_memory               where local tasks hand rows over, and share segments of state
    processor, group_messages,  one kernel graph per group, in transformWithState
    group_host
    state/                      a directory and immutable segments in Spark's state store, each
                                written once, under the fingerprints of operators; every attempt at
                                a batch writes files of its own, of which the commit names those
                                that count, so retries need no further care
    control/                    punctuation from outside as small files, which Spark logs before the
                                batch and replays exactly: the end of a run, enabling timestamps;
                                `attempts`: a query whose Python worker was slow to start is started
                                again
    delivery/                   results of a batch go to each sink under the batch's number, so that
                                a repeated batch replaces what it put out before; a directory
                                belongs to one checkpoint, with a list of its parts and their
                                digests
    rows/                       pipelines without groups and state: queries over single rows
    in_memory/                  micro-batches without Spark, for tests and `penstock verify`
    faults                      every step between reading offsets and committing a batch, which
                                tests make fail

The end of a run (`optimizer/closing.py`) is not the end of the streams: files may be added. Each
stream gets the least bound with which nothing waits any more. Operators that can let rows in again
where no answer has used them do (`reopen`): windows that slide past the end get all of theirs.
"""
