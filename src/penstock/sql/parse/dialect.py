"""The dialect: Spark SQL's words and grammar, and ours on top.

Words that Spark's tokenizer would take for something else: EXPLAIN and SHOW would swallow the rest
of the line, and WINDOW would open a named-window clause, where to us it is the function
`window(…)`.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import TokenType

from penstock.sql.parse.grammar_statement import StatementParser


class Penstock(Spark):
    """Spark SQL with streams, windows in brackets, and continuous queries."""

    class Tokenizer(Spark.Tokenizer):
        SINGLE_TOKENS: ClassVar[dict[str, TokenType]] = {
            **Spark.Tokenizer.SINGLE_TOKENS,
            "∪": TokenType.UNION,
        }

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{
                word: token
                for word, token in Spark.Tokenizer.KEYWORDS.items()
                if word not in ("EXPLAIN", "SHOW", "WINDOW")
            },
            "GROUP-BY": TokenType.GROUP_BY,
            "GROUPBY": TokenType.GROUP_BY,
        }

    Parser = StatementParser
