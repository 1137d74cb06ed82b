"""Functions of text in the spelling of the SQL standard, with words between their arguments.

    trim([BOTH | LEADING | TRAILING] [characters] FROM text)     btrim(text, characters), …
    substring(text FROM position [FOR count])                    substring(text, position, count)
    overlay(text PLACING other FROM position [FOR count])        overlay(text, other, position, …)

They become calls with plain arguments; what stands between commas is read as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

if TYPE_CHECKING:
    from penstock.sql.parse.grammar_expression import ExpressionParser

#: Which end -> the function that trims it of blanks.
_TRIMS = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
#: What follows a column that is called like one of these words.
_BEHIND_NAME = (TokenType.R_PAREN, TokenType.COMMA, TokenType.DOT)


def _trim(parser: ExpressionParser) -> exp.Expr:
    end = ""
    word = parser._curr.text.upper()
    if word in _TRIMS and parser._next.token_type not in _BEHIND_NAME:
        end = word
        parser._advance()
    args = [] if end and parser._curr.token_type == TokenType.FROM else _arguments(parser)
    if not end and (len(args) != 1 or parser._curr.token_type != TokenType.FROM):
        return _call("trim", args)
    text = _behind(parser, "FROM")
    if not args:
        return _call(_TRIMS[end], [text])
    # Spark's ltrim and rtrim take the characters first.
    return (
        _call("btrim", [text, *args]) if end in ("", "BOTH") else _call(_TRIMS[end], [*args, text])
    )


def _substring(parser: ExpressionParser) -> exp.Expr:
    args = _arguments(parser)
    if len(args) == 1 and parser._curr.token_type == TokenType.FROM:
        args = [*args, _behind(parser, "FROM"), *_count(parser)]
    return _call("substring", args)


def _overlay(parser: ExpressionParser) -> exp.Expr:
    args = _arguments(parser)
    if len(args) == 1 and parser._curr.text.upper() == "PLACING":
        args = [*args, _behind(parser, "PLACING"), _behind(parser, "FROM"), *_count(parser)]
    return _call("overlay", args)


def _arguments(parser: ExpressionParser) -> list[exp.Expr]:
    return list(parser._parse_function_args(True))


def _behind(parser: ExpressionParser, word: str) -> exp.Expr:
    """The value behind a word, which must be there."""
    if not parser._match_text_seq(word):
        parser.refuse(f"expected {word}, not {parser.found()}")
    value = parser._parse_bitwise()
    if value is None:
        parser.refuse(f"expected a value after {word}, not {parser.found()}")
    return value


def _count(parser: ExpressionParser) -> list[exp.Expr]:
    return [_behind(parser, "FOR")] if parser._curr.text.upper() == "FOR" else []


def _call(name: str, args: list[exp.Expr]) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=args)


TEXT_FUNCTIONS: dict[str, Callable[[Any], exp.Expr]] = {
    "TRIM": _trim,
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "OVERLAY": _overlay,
}
