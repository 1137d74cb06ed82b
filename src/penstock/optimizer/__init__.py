"""From logical plans to the operators that compute them: decided here, as a value; built from it.

    optimize    RULES rewrite the plans of all queries that run together; `lower_*` choose operators
                for each node, with the reason; FITTING fits them to each other and to what runs
    physical    PhysicalPlan and Program, what comes of it: specs over inputs, with fingerprints
    specs       an operator as a value, with all that it is built from
    codec       such values to JSON and back
    build       the operators in a kernel graph, named by their plan's fingerprint
    explain     a plan as text: what runs, and why
    rechoose    one operator takes over from another while a query runs
    options     what the user has set; `cost` and `statistics` are what is measured

`closing` and `bounds_used` tell which bounds of its streams a plan needs.
"""
