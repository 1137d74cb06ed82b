"""What every host does: a graph of operators, fed, run and drained.

base_engine             statements carried out; what an engine says of itself
declarations            statements that declare, bound and put into a catalog
query, query_output     the handle of a query; its way out of the graph
graph_host              one graph under both engines: streams and queries come and go
stream_input, arrivals  a stream's way in: by row in this process, by micro-batch on Spark
enabling, clock         silent streams are asked for the time
counts, status          what became of rows; what engine, queries, streams, operators came to
row_buffer              rows that nobody has taken, up to a limit
snapshot                what a graph keeps, as plain data
calibrate               how fast this machine computes windows
rechoosing              operators that were chosen by cost, chosen again while they run
"""
