"""Sequences: window joins in which the order of time decides who is paired with whom.

sequence        the operator: ports, bounds, what waits and what is let out
earlier_rows    rows of the step before, sorted by key and time; when they can be forgotten
used_rows       which of them were used up (CHRONICLE)
placing         rows in the order of key and time, and where the rows before each one lie
pairing         the rule of each mode, on index ranges alone; `pairing_where`: with conditions
"""
