"""Pipelines without groups, for programs whose queries all look at single rows.

Nothing is kept of such rows, so they need not meet: the tasks that read them compute the results
(`exchange/row_query.py`). There is no stateful step, whose shuffle and state store are more than
half of a small micro-batch. What is known of event time, and how many rows were late, is the
business of a single kernel graph, which the driver runs over the messages of the exchange (`host`).
"""
