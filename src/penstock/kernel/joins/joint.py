"""Joint punctuation: bounds on the pair of timestamps in a join's results.

When nothing below b0 comes on one input any more and nothing below b1 on the other, every pair of
rows below both has met: the *box* of results with left < b0 and right < b1 is complete, however
long the window is. A bound on one timestamp alone has to wait until all partners in the window
have arrived, so it lags behind by up to the window.

The box says something of its own only where b0 and b1 lie in the band of each other, as the
timestamps of two rows that join do. Elsewhere the input that is behind decides, and the bound
on its timestamp alone is as good.

As punctuation a box is a bound on one timestamp with a pattern for the other, once for each:
`left below b0, where right is below b1`. A row without a partner has no second timestamp, and no
pattern means it.  Spec: window-queries 6.4, Fig 7-3, 7-4.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END
from penstock.windows import JoinBand


def is_box(band: JoinBand, left: int, right: int) -> bool:
    """Whether bounds on the two sides say more together than each alone.

    >>> from penstock.windows import Band
    >>> is_box(Band(low=-2, high=3), 10, 13), is_box(Band(low=-2, high=3), 10, 14)
    (True, False)
    """
    if min(left, right) <= BEGINNING or max(left, right) >= END:
        return False
    return band.joins(left, right)


def joint(
    band: JoinBand, on: tuple[str, str], bounds: list[int], sent: list[int]
) -> Iterator[Punctuation]:
    """The bounds on the pair of timestamps; `sent` are those sent on each alone.

    >>> from penstock.windows import Band
    >>> for punctuation in joint(Band(low=-2, high=3), ("l", "r"), [10, 11], [8, 8]):
    ...     print(punctuation)
    Punctuation(on='l', bound=10, where=(('r', (None, 11)),))
    Punctuation(on='r', bound=11, where=(('l', (None, 10)),))
    """
    # A side whose bound was sent in full by itself needs no second timestamp.
    if not is_box(band, *bounds) or any(s >= b for s, b in zip(sent, bounds, strict=True)):
        return
    for mine, other in ((0, 1), (1, 0)):
        yield Punctuation(on[mine], bounds[mine], ((on[other], (None, bounds[other])),))
