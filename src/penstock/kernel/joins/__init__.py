"""Window joins: one driver, tactics that say when rows meet and results leave.

window_join     the driver: ports, bounds, punctuation
pair_inputs     inputs that store rows and find partners; `key_index`: stored rows of an input,
                sorted by key and time (`run`), so that a block finds its partners by binary search
tactics/        OA-Join lets pairs leave as soon as they exist; others keep order (`tactic` has
                the table)
purge, reach    when a row may be forgotten: for one band, for several
unmatched       which rows have met a partner, for outer, semi and anti joins
mjoin           several inputs at once: keeps rows of inputs only, and finds combinations for
                each block
joint           punctuation on the pair of both timestamps, for aggregates that group by both
keyed           punctuation for the rows of one key
table_join      joins with static tables: a hash index, built once per process; rows pass
                immediately
"""
