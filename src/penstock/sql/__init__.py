"""SQL text to logical plan, in two steps.

    text ──parse──► statements ──bind──► plan

*Parsing* knows grammar only. It is sqlglot's Spark parser with our additions, one class on top of
the other:

    grammar_expression  scalar expressions, without sqlglot's leniencies
    grammar_window      lengths and the window clause `[RANGE …, SLIDE …, WA …]`
    grammar_from        what stands in FROM: streams, unions, table functions, joins
    grammar_stream      CREATE STREAM
    grammar_statement   all other statements
    dialect             the words, and the parser that results
    parser              the border: foreign exceptions become ours

*Binding* knows names and types: `bind_query` is the entrance, one file per clause. Whatever it
raises has its position in the text. It does not judge what can run: the optimizer does.

Nothing that was written is ignored: a part of the syntax tree that no binder asks for is refused
(`positions.only`).
"""
