"""When a join that runs gets another plan, which one, and how it gets there; pure functions.

    triggers         is it time to look: an interval, memory, rows that wait
    migration_cost   what Moving State and Parallel Track would take
    plan_history     plans that served before, by what was measured then
    plan_memory      the same for a controller that begins later, after a restart
    controller       looks, weighs, and says what to do and why
    watching         the joins of a query, each with its controller

Nothing here runs a plan or reads a clock: hosts tell what they have measured and when.
Spec: dynamic-optimization 3.4, 6.2.
"""
