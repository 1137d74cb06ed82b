"""Native lowering: whole queries as Spark SQL operators, with bounds as watermarks.

Of itself only a query alone in its pipeline that is one tumbling aggregate over event time, of
parquet files in the file system. The files are read by us and folded on the way, one line for each
group and pane (`folding`). The same rows are late as in the kernel: tasks judge by the bound after
the earlier batches, which the driver keeps in the checkpoint (`books`), and hand in what they
reject. The time that Spark watches is a column of its own, shifted so that all of it lies after
1970, where Spark's clock begins (`times`).

`SET lowering = native` asks for more: sliding windows (panes by one stateful aggregation, windows
by a second, `sliding`; the kernel measured faster), other sources, unions, and functions that
cannot be folded. Of rows that Spark reads itself it judges lateness by windows: one below the bound
is accepted while its window is open. Approximate counts come from another sketch than the kernel's.
"""
