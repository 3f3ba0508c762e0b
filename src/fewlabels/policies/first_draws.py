"""The first random number of many generators at once, as `default_rng([seed, i, key]).random()` gives it for each i.

Making a generator takes 15 µs, and a log of a hundred thousand steps has one for each. Here NumPy's own seeding
(`SeedSequence`, by M. E. O'Neill's `seed_seq_fe128`) and the first step of PCG64 are done on whole columns. A test
compares the numbers with NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint32]
    Wide = tuple[NDArray[np.uint64], NDArray[np.uint64]]  # numbers of 128 bits: the high and the low half

_POOL = 4  # words of 32 bits
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # of PCG64's steps
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def first_draws(seed: int, numbers: NDArray[np.int64], key: int) -> NDArray[np.float64]:
    """The first draw from [0, 1) of the generator [seed, i, key], for each of the numbers i < 2³²; shape (numbers,).

    >>> first_draws(7, np.array([1, 2]), 5).tolist() == [np.random.default_rng([7, i, 5]).random() for i in (1, 2)]
    True
    """
    entropy: list[int | Words] = [*_words(seed), numbers.astype(np.uint32), *_words(key)]
    high, low = _pcg64(_state(_mixed(entropy, len(numbers))))
    # The output is high XOR low, rotated to the right by the six highest bits; a draw is made of its 53 highest bits.
    turn, mixed = high >> np.uint64(58), high ^ low
    output = (mixed >> turn) | (mixed << (-turn & np.uint64(63)))
    return (output >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _words(number: int) -> list[int]:
    """A whole number as words of 32 bits, the lowest first."""
    return [number >> shift & 0xFFFFFFFF for shift in range(0, max(number.bit_length(), 1), 32)]


class _Hash:
    """A hash of words whose constant changes with each of them."""

    def __init__(self, start: int, factor: int) -> None:
        self._constant, self._factor = start, factor

    def __call__(self, words: Words) -> Words:
        words = words ^ np.uint32(self._constant)
        self._constant = self._constant * self._factor & 0xFFFFFFFF
        words = words * np.uint32(self._constant)
        return words ^ (words >> np.uint32(16))


def _mixed(entropy: list[int | Words], size: int) -> list[Words]:
    """The pool of a SeedSequence for each number: four words."""

    def mix(x: Words, y: Words) -> Words:
        mixed = np.uint32(0xCA01F9DD) * x - np.uint32(0x4973F715) * y
        return mixed ^ (mixed >> np.uint32(16))

    columns = [np.broadcast_to(np.asarray(word, dtype=np.uint32), size) for word in entropy]
    columns += [np.zeros(size, dtype=np.uint32)] * (_POOL - len(columns))
    hashed = _Hash(0x43B0D7E5, 0x931E8875)
    pool = [hashed(column) for column in columns[:_POOL]]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = mix(pool[target], hashed(pool[source]))
    for column in columns[_POOL:]:
        for target in range(_POOL):
            pool[target] = mix(pool[target], hashed(column))
    return pool


def _state(pool: list[Words]) -> list[NDArray[np.uint64]]:
    """The four words of 64 bits that a SeedSequence seeds PCG64 with."""
    hashed = _Hash(0x8B51F9DD, 0x58F38DED)
    words = [hashed(pool[i % _POOL]).astype(np.uint64) for i in range(8)]
    return [words[i] | words[i + 1] << _HALF for i in range(0, 8, 2)]


def _pcg64(state: list[NDArray[np.uint64]]) -> Wide:
    """The state of PCG64 from which its first number comes: seeded, and stepped once."""
    unit = np.uint64(1)
    increment = state[2] << unit | state[3] >> np.uint64(63), state[3] << unit | unit
    seeded = _step(_sum(increment, (state[0], state[1])), increment)
    return _step(seeded, increment)


def _step(x: Wide, increment: Wide) -> Wide:
    return _sum(_product(x, (_MULTIPLIER >> 64, _MULTIPLIER & 2**64 - 1)), increment)


def _sum(x: Wide, y: Wide) -> Wide:
    low = x[1] + y[1]
    return x[0] + y[0] + (low < y[1]).astype(np.uint64), low


def _product(x: Wide, factor: tuple[int, int]) -> Wide:
    """x · factor modulo 2¹²⁸, by halves of 32 bits."""
    high, low = (np.uint64(half) for half in factor)
    a, b, c, d = x[1] >> _HALF, x[1] & _LOW, low >> _HALF, low & _LOW
    middle = (b * d >> _HALF) + (a * d & _LOW) + (b * c & _LOW)
    carried = a * c + (a * d >> _HALF) + (b * c >> _HALF) + (middle >> _HALF)
    return x[0] * low + x[1] * high + carried, x[1] * low
