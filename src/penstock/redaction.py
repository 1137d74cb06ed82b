"""Secrets are not shown: neither in errors nor in files that describe a program.

A secret is known by the name it is given under: `kafka.sasl.jaas.config`, `password`, `sas_token`.
Its value is replaced by stars, wherever such a name and a value stand side by side: in options, in
SQL, in addresses (`jdbc:…?password=x`, `https://user:x@host`), in what Spark and its sources say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

STARS = "***"

#: Parts of a name that make it a secret's.
_SECRET_WORDS = frozenset(
    [
        *("password", "passwd", "passphrase", "pwd", "pass"),
        *("secret", "secrets", "token", "jaas", "credential", "credentials", "authorization"),
        *("key", "apikey", "accesskey", "secretkey", "privatekey"),
    ]
)
#: Where a name has one of those words, and means something else.
_OTHER_MEANINGS = re.compile(r"(?i)key[._]?(de)?serializer|message[._]?key")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

#: What `key` must come with in texts, where it is as often a column as a secret.
_KEY_OF = frozenset(["access", "account", "api", "private", "secret", "shared", "ssl", "storage"])

_QUOTED = r"""'(?:[^'\\]|''|\\.)*'?|"(?:[^"\\]|\\.)*"?"""
#: A whole word, never a part of one: else a word of n letters would be tried in n * n ways. What
#: was found ahead is not tried shorter; Python 3.10 has no `++` for that.
_NAME = r"(?<![\w.\-])(?=(?P<name>[\w.\-]+))(?P=name)"


class _Named(NamedTuple):
    """How a value stands in a text beside its name.

    The value is a pattern of its own, for those of secrets: looked at behind every name, a text of
    n names without a gap would be read n times.
    """

    name: re.Pattern[str]  # and what stands between it and a value, up to where that begins
    value: re.Pattern[str]


#: A name, and its value: quoted, or up to the next gap.
_NAMED = _Named(
    re.compile(rf"""{_NAME}["'`]?(?:\s*[=:]\s*|\s+(?=['"]))(?=[^\s&,;)}}\]])"""),
    re.compile(rf"""{_QUOTED}|[^\s'"&,;)}}\]]+"""),
)
#: The same among the options of a statement, where a value may stand there without quotes.
_OPTION = _Named(
    re.compile(rf"""{_NAME}["'`]?\s*=?\s*(?=[^\s,)])"""),
    re.compile(rf"{_QUOTED}|[^\s,)]+"),
)
_OPTIONS = re.compile(rf"(?is)\bOPTIONS\s*\((?:{_QUOTED}|[^)'\"])*")
#: `//user:secret@host`, also where the secret has signs in it that should have been written
#: otherwise. So long at the most that a text of nothing but beginnings is not looked at for ever.
_ADDRESS = re.compile(r"(?P<before>//[^\s/:@'\"]*:)(?P<value>[^\s'\"]{1,500})(?=@)")
#: `postgresql:user:secret@host`, an address without its `//`
_LOOSE_ADDRESS = re.compile(
    r"(?i)(?P<before>(?<![\w.+\-])[a-z][a-z0-9.+\-]*:)(?P<value>[^\s'\"/@`][^\s'\"`]{0,500})(?=@)"
)
#: What a statement names as a place: it may be meant as an address, and hold a secret, however it
#: is written.
_PLACE = re.compile(rf"(?is)(?P<before>\b(?:INTO|FROM)\s+\w+\s+)(?P<value>{_QUOTED})")
_IN_PLACE = re.compile(r"(?s)(?P<before>:)(?P<value>.{1,500})(?=@)")
#: `?password=secret&…`, behind an address
_PARAMETER = _Named(
    re.compile(r"(?<=[?&])(?P<name>[\w.\-]+)=(?=[^\s'\"&])"), re.compile(r"[^\s'\"&]+")
)
#: Formats that call something by a name which is a secret's elsewhere.
_OPEN_NAMES = {"redis": ("key",), "postgres": ("key",), "kafka": ("key",)}


def is_secret(name: str) -> bool:
    """Whether what stands under this name must not be shown.

    >>> is_secret("kafka.sasl.jaas.config"), is_secret("sasToken"), is_secret("fs.s3a.secret.key")
    (True, True, True)
    >>> is_secret("keys"), is_secret("subscribe"), is_secret("maxFilesPerTrigger")
    (False, False, False)
    """
    words = {word.lower() for word in _WORD.findall(name)}
    return bool(words & _SECRET_WORDS) and not _OTHER_MEANINGS.search(name)


def redacted_options(
    options: Iterable[tuple[str, str]], format: str | None = None
) -> dict[str, str]:
    """Options as they may be shown, those of a format that is known.

    >>> redacted_options([("subscribe", "bids"), ("kafka.ssl.key.password", "x")])
    {'subscribe': 'bids', 'kafka.ssl.key.password': '***'}
    >>> redacted_options([("key", "clicks")], "redis"), redacted_options([("key", "x")], "jdbc")
    ({'key': 'clicks'}, {'key': '***'})
    """
    shown = _OPEN_NAMES.get(format or "", ())
    return {
        name: STARS if is_secret(name) and name.lower() not in shown else redacted(value)
        for name, value in options
    }


def redacted(text: str) -> str:
    """A text without the secrets that stand in it beside their names.

    >>> redacted("OPTIONS (password 'hunter2', subscribe 'bids')")
    "OPTIONS (password '***', subscribe 'bids')"
    >>> redacted("jdbc:x://h/db?password=p&ssl=true, https://u:p@h/, a.key = b.key")
    'jdbc:x://h/db?password=***&ssl=true, https://u:***@h/, a.key = b.key'
    >>> redacted("cannot write into `postgresql:ada:p@h/d`")
    'cannot write into `postgresql:***@h/d`'
    """
    for address in (_ADDRESS, _LOOSE_ADDRESS):
        text = address.sub(lambda match: match["before"] + STARS, text)
    return _covered(text, _NAMED, _is_secret_in_text, lambda value: STARS)


def redacted_sql(text: str) -> str:
    """SQL without the secrets in its options and addresses, every character in its place.

    >>> redacted_sql("CREATE STREAM s OPTIONS (key 'abc', topic 'x') WHERE s.key = 'abc'")
    "CREATE STREAM s OPTIONS (key '***', topic 'x') WHERE s.key = 'abc'"
    >>> redacted_sql("INTO postgres 'postgresql://u:abc@h/db?password=x' AS SELECT 'a:b'")
    "INTO postgres 'postgresql://u:***@h/db?password=*' AS SELECT 'a:b'"
    >>> redacted_sql("INTO postgres 'host=h password=abc' AS SELECT 'password=abc'")
    "INTO postgres 'host=h password=***' AS SELECT 'password=abc'"
    """

    def in_options(match: re.Match[str]) -> str:
        return _covered(match[0], _OPTION, is_secret, _as_long)

    text = _without_values(_ADDRESS, text)
    text = _covered(text, _PARAMETER, _is_secret_in_text, _as_long)
    text = _PLACE.sub(lambda match: match["before"] + _redacted_place(match["value"]), text)
    return _OPTIONS.sub(in_options, text)


def _redacted_place(quoted: str) -> str:
    """What is named as a place, without the secrets in it, every character in its place."""
    quote, inner = quoted[0], quoted[1:]
    inner = _covered(inner, _NAMED, _is_secret_in_text, _as_long)
    return quote + (inner if "//" in inner else _without_values(_IN_PLACE, inner))


def _without_values(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: match["before"] + _as_long(match["value"]), text)


def _is_secret_in_text(name: str) -> bool:
    words = {word.lower() for word in _WORD.findall(name)}
    return is_secret(name) and (bool((words & _SECRET_WORDS) - {"key"}) or bool(words & _KEY_OF))


def _as_long(value: str) -> str:
    return "*" * len(value)


def _covered(
    text: str,
    named: _Named,
    is_one: Callable[[str], bool],
    stars: Callable[[str], str],
) -> str:
    """The text with the values covered that stand behind names of secrets."""
    parts, place = [], 0
    while found := named.name.search(text, place):
        if not is_one(found["name"]):
            # Its value may hold a name and a value in turn.
            parts.append(text[place : found.end("name")])
            place = found.end("name")
            continue
        match = named.value.match(text, found.end())
        assert match is not None, "the name's pattern has seen how it begins"
        value = match[0]
        quote = value[0] if value[0] in "'\"" else ""
        end = quote if len(value) > 1 and value.endswith(quote) else ""
        inner = value[len(quote) : len(value) - len(end)]
        parts += [text[place : match.start()], quote, stars(inner), end]
        place = match.end()
    return "".join([*parts, text[place:]])
