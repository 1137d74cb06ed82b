"""Window aggregation: one driver, one algorithm per file.

The driver closes windows by bounds, lets results leave with their windows' ends and punctuates
these; algorithms say how rows are taken in and results taken out.

    wid/bucket                tags rows with their range of window ids
    wid/wid                   window id as one more grouping key, closed by punctuation
    wid/landmark, wid/bins    landmark and slide-by-tuple windows: WID with other ids
    wid/revisions             early results (EMIT): rows carry the round in which they came
    panes/                    rows are aggregated once, in panes, and windows put together from
                              them; one store serves all windows of all queries over the same rows
                              and groups (`shared_windows`), on a grid that answers any range of
                              panes in one lookup (`range_aggregates`), or each window from the
                              one before (`differences`)
    adapt/                    each group as partials or as rows, whichever takes less memory
                              (`cost`)
    two_level/                a table of fixed size in front of WID; what it has no room for is
                              rolled up behind it (`flush`: when)
    partitioned, session      the last rows of each partition; rows with no gap between them
    up_to_last_row            windows over rows end with the rows of their stream
    align_windows             several windows in one query, joined by group and end
    handover                  another algorithm goes on with a window's results
    behind_windows            what the last three have in common
    baselines/                buffering: all rows are kept, to compare with
"""
