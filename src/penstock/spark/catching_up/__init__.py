"""Catching up: a query that begins FROM START in a pipeline that runs.

Its operators see all rows of its streams, so they have a graph of their own in every group until
they have seen as much as the others. Meanwhile every batch has two parts: the rows that come, for
the others, and a *slice* of the files that earlier batches have read, for these. When a slice ends
with the files of its own batch, nothing is left: from the next batch on the operators stand among
the others, with what they have kept, and read what comes.

    can_read_again   which queries can
    history          the files that Spark has read, in its order
    slices           how much of it a batch takes
    slice_log        what each batch takes, written down before it is computed
    catch_up         all that, on the driver, batch by batch
    read_again       a slice as a group sees it
    standing         where queries stand, for whoever asks
    group_hosts      the graphs of a group, and how one becomes a part of another

So there is one Spark query throughout, with one set of offsets, and results go to their sinks under
its batches. Nothing is handed from one Spark query to another, which no step could do at once. What
came while a query catches up is not kept for it anywhere: it is read from its files in its turn.

A slice is made of whole batches of the past. A row is late by what came in earlier batches, so none
is late now that was not then, and those that are have been counted and handed out then.
"""
