"""How operators and streams know how far time has come.

    generate    bounds of a stream from its declaration: ordered, SLACK, stamped, punctuated
    ets, eqg    enabling timestamps of silent streams, as punctuation or over arcs that skip
                operators which would only pass it on
    describe    only punctuation that some reader uses travels, as finely as it is used: a window
                that slides by a minute gets one bound a minute
    release     the least bounds that let the next row of a query out: what EXPLAIN LIVE names, and
                on Spark the only ones that enabling timestamps are made for
    late        rows below the bound: counted and rejected, never merged into results that are out

Punctuation may be for some rows only, such as those of one key. Aggregates answer such groups
before the others, joins forget and let out rows of that key, unions keep one bound per pattern and
input, and all of them pass it on. Where other rows decide what a group's windows are (slide by
tuple, rows of a partition) it ends without effect.
"""
