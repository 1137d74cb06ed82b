"""Random numbers that can be looked up: the n-th one, without drawing those before it.

A *sequence* is an endless list of random numbers with a name. Its numbers are Philox' answers to
the counters 0, 1, 2, … under a key made of the seed, the owner's name and the sequence's, so any
stretch of any sequence is found at once, in any process, as often as one likes. That is what makes
a workload replayable: a row is a function of the seed and its number, and there is no state to
restore.

Only raw 64-bit words are taken from NumPy: it guarantees that these never change, and does not
guarantee it for its distributions.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

_WORDS_PER_COUNT = 4  # Philox answers each counter with four words


@dataclass(frozen=True)
class Draws:
    """All the random numbers of one owner: a workload, or something that several of them share."""

    seed: int
    owner: str

    def uniform(self, sequence: str, first: int, count: int) -> Floats:
        """Numbers first … first + count - 1 of the sequence, each from [0, 1).

        >>> draws = Draws(1, "example")
        >>> bool((draws.uniform("x", 0, 9)[5:] == draws.uniform("x", 5, 4)).all())
        True
        """
        skipped = first % _WORDS_PER_COUNT
        philox = np.random.Philox(key=self._key(sequence), counter=first // _WORDS_PER_COUNT)
        words: Words = philox.random_raw(skipped + count)[skipped:]
        return _fractions(words)

    def below(self, limit: int, sequence: str, first: int, count: int) -> Integers:
        """Numbers first … first + count - 1 of the sequence, each from 0 … limit - 1.

        The product never reaches the limit, because a fraction is at most 1 - 2^-53.
        """
        return (self.uniform(sequence, first, count) * limit).astype(np.int64)

    def numbered(self, sequence: str, numbers: Integers) -> Words:
        """One random word for each of the given numbers: the same one whenever it is asked for.

        So a thing with a number (a person, a conversation) keeps its properties in every row that
        mentions it, without a table of all things.
        """
        words = numbers.astype(np.uint64) + np.uint64(self._key(sequence) & (2**64 - 1))
        return _scrambled(words)

    def _key(self, sequence: str) -> int:
        name = f"{self.seed}/{self.owner}/{sequence}"
        return int.from_bytes(blake2b(name.encode(), digest_size=16).digest(), "little")


def _fractions(words: Words) -> Floats:
    """The upper 53 bits of each word, as a number from [0, 1)."""
    upper = np.right_shift(words, np.uint64(11))
    fractions: Floats = upper.astype(np.float64)
    fractions *= 2.0**-53
    return fractions


def _scrambled(words: Words) -> Words:
    """SplitMix64's last steps: every bit of a word changes about half the bits of the result."""
    words = words * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words
