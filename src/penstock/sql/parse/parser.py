"""Text -> statements. The border at which sqlglot's exceptions become ours.

>>> [type(statement).__name__ for statement in parse("SET union = merge; SELECT a FROM s")]
['SetStatement', 'BareSelect']
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot.errors import SqlglotError, TokenError

from penstock.errors import Position, SyntaxFault
from penstock.model.assignments import ParameterValue
from penstock.sql.parse.dialect import Penstock
from penstock.sql.parse.grammar_expression import Misread
from penstock.sql.parse.grammar_statement import StatementParser
from penstock.sql.parse.statements import Statement


def parse(text: str, parameters: Mapping[str, ParameterValue] | None = None) -> list[Statement]:
    """The statements of the text, in order; SyntaxFault if there is something else in it.

    `parameters` are declared already, by their names in lower case.
    """
    dialect = Penstock()
    parser = StatementParser(dialect=dialect)
    try:
        return parser.statements(dialect.tokenize(text), text, parameters or {})
    except Misread as error:
        raise _fault(error, text) from None
    except TokenError as error:
        raise _unreadable(error, text) from None
    except RecursionError:
        raise SyntaxFault(
            "this is nested too deeply", position=parser.place(), hint="split it into views"
        ) from None
    except SqlglotError as error:
        raise SyntaxFault(f"the text cannot be read: {error}") from None


def _fault(error: Misread, text: str) -> SyntaxFault:
    """sqlglot's complaint in our words."""
    span = error.span
    found = "the end" if error.at_end else f"`{text[span.start : span.end]}`"
    expected = re.match(r"Expect(?:ed|ing) (.+)", error.message)
    if expected:
        wanted = f"`{expected[1]}`" if len(expected[1]) == 1 else expected[1]
        message = f"expected {wanted}, not {found}"
    elif error.message.startswith("Required"):
        message = f"something is missing before {found}"
    else:
        message = f"unexpected {found}"
    return SyntaxFault(message, position=Position(text, span.start, span.end))


def _unreadable(error: TokenError, text: str) -> SyntaxFault:
    """A text that does not even fall into words: a quote that is never closed, mostly."""
    cause = re.match(r"(?:Missing (\S+)|(.+)) from \d+:(\d+)", str(error.__cause__))
    closing, reason, at = cause.groups() if cause else (None, "it cannot be split into words", 0)
    start = min(int(at), len(text) - 1)
    if closing:
        return SyntaxFault(
            f"the text ends before the closing {closing}",
            position=Position(text, start, len(text)),
            hint=f"close it with {closing}",
        )
    end = text.find("\n", start)
    return SyntaxFault(
        f"the text cannot be read: {reason[0].lower()}{reason[1:]}",
        position=Position(text, start, end if end > start else len(text)),
    )
