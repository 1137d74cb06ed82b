"""Patterns of rows: where matches of MATCH_RECOGNIZE begin and end, and which row is of what.

    automaton    a pattern as places with what may follow each, in the order of preference
    lazy_dfa     the same where conditions look at single rows: one state per row, made as needed
    conditions   which variables a row can be of, for all rows at once
    shared_attempts   all attempts of a partition at once: those in the same state are one
    long_partitions   partitions with many rows that wait, of which only new ones are looked at
    sorted_rows  the rows of partitions, each in its order
    search       from which rows matches are tried, and where the search goes on
    scan         matches by that automaton, for all rows of a block at once
    threads      matches where conditions depend on the match so far, row by row
    scalar       such conditions, for one row at a time
    measures     results of matches
    match_recognize   the operator: order, state, bounds

A *match* is the first in the order of preference that begins at a row: alternatives from left to
right, repetitions as long (reluctant ones: as short) as possible. The search begins at the first
row of a partition; behind a match it goes on where AFTER MATCH SKIP says, else one row further.
"""
