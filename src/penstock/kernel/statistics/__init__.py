"""What is measured of joins while they run, from samples of time and of rows; answers never depend
on it.

`join_meter` looks at the inputs of a join and hands out *cells*: rows, sketches of keys, and how
many pairs satisfy conditions, of one stretch of time each. What is made of them: `optimizer/
join_statistics.py`.
"""
