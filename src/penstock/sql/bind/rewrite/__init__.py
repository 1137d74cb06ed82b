"""Queries to write instead: what hints print where a spelling of other systems cannot be run.

    semi_join      IN, EXISTS and NOT EXISTS over a query    SEMI JOIN, ANTI JOIN
    distinct       SELECT DISTINCT                           GROUP BY ALL in a window
    row_functions  ROW_NUMBER, LAG, sum(x) OVER (…)          row_num, MATCH_RECOGNIZE, a window
    group_windows  GROUP BY TUMBLE(ts, …)                    GROUP BY window(ts, …)
    latest_row     ASOF JOIN, FOR SYSTEM_TIME AS OF          SEQ … MODE RECENT, JOIN of a table

Each makes texts of the query with some stretches replaced. Where the query is bound, the first of
these that is accepted goes into the hint (`accepted`), so following a hint gives an answer.
"""
