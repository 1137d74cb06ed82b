"""Verification: a user's own queries, compared with the oracle.

A *case* is what comes: rows of every stream in batches, in disorder, some late, some repeated. A
*way* is how it is computed: host, operators, strategy, groups, restarts, faults. Whatever the way,
what a query gives over a case must be what the oracle gives. Where it does not, the case is made
smaller until nothing can be left out.

    script      the statements of a file, carried out on any engine with any settings
    samples     rows of streams, from where the file says they come
    generated   rows made of the declared types, where nothing can be read
    lengths     where windows begin and end: mistakes sit there
    arrivals    rows → a case
    ways        the ways there are
    run_here    a case through this process, run_groups: through groups without Spark,
    run_spark   and on Spark
    judging     what a query must give over a case
    shrinking   a smaller case that fails as well
    verify      all of it; report: what it found, for people and as JSON
"""
