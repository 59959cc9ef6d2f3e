"""Trains the dictionary that small stored things are compressed with, and says what it saves.

    python bench/dictionary.py --out src/content/dictionaries/1.dict
    python bench/dictionary.py --compare src/content/dictionaries/1.dict

The second form only measures, on runs and prose that no dictionary was trained with. A published
dictionary is never replaced: envelopes name its version, so a better one gets the next number.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable
from pathlib import Path

import zstandard
from prose import HELD_OUT, TRAINING, Prose, Words
from samples import KINDS, Sample, samples

SIZE_BYTES = 64 * 1024
TRAINING_SEED, HELD_OUT_SEED = 1, 2
TRAINING_ROUNDS, HELD_OUT_ROUNDS = 20, 3
# Shortest match that counts as one while training; 6 and 8 gave the same sizes within 2%.
MATCH_BYTES = 8
# zstd's first four bytes are the same in every frame; the envelope leaves them out.
MAGIC_BYTES = 4
HEADER_BYTES = 3


def train(rounds: int, size_bytes: int) -> bytes:
    """Not the same bytes on every run: tools run side by side, so samples change places."""
    found = samples(Words(TRAINING, TRAINING_SEED), seed=TRAINING_SEED, rounds=rounds)
    random.Random(TRAINING_SEED).shuffle(found)
    made = zstandard.train_dictionary(
        size_bytes, [one.data for one in found], d=MATCH_BYTES, steps=16, level=3
    )
    return made.as_bytes()


def held_out(rounds: int = HELD_OUT_ROUNDS) -> list[Sample]:
    return samples(Prose(HELD_OUT, HELD_OUT_SEED), seed=HELD_OUT_SEED, rounds=rounds)


def envelope_bytes(dictionary: bytes | None, level: int) -> Callable[[bytes], int]:
    """How long an envelope becomes: without a dictionary, or with one."""
    packer = zstandard.ZstdCompressor(
        level=level,
        dict_data=zstandard.ZstdCompressionDict(dictionary) if dictionary else None,
        write_checksum=False,
        write_dict_id=False,
    )
    # With a dictionary: the version is one byte more, the magic number four less.
    header = HEADER_BYTES + (1 - MAGIC_BYTES if dictionary else 0)
    return lambda data: min(HEADER_BYTES + len(data), header + len(packer.compress(data)))


def report(dictionary: bytes, found: list[Sample]) -> str:
    columns = {
        "raw": len,
        "zstd 3": envelope_bytes(None, 3),
        **{f"dictionary, {level}": envelope_bytes(dictionary, level) for level in (1, 3, 6, 12)},
    }
    lines = ["| mean bytes | n | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for kind in KINDS:
        group = [one.data for one in found if one.kind == kind]
        cells = [f"{statistics.fmean(map(size, group)):.0f}" for size in columns.values()]
        lines.append(f"| {kind} | {len(group)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="train, and write the dictionary here")
    parser.add_argument("--compare", type=Path, help="measure this one instead of training")
    parser.add_argument("--rounds", type=int, default=TRAINING_ROUNDS, help="runs of each kind")
    parser.add_argument("--size", type=int, default=SIZE_BYTES, help="of the dictionary, in bytes")
    parser.add_argument("--samples", type=Path, help="also write the held-out samples, one a file")
    options = parser.parse_args()
    found = held_out()
    if options.compare:
        dictionary = options.compare.read_bytes()
    else:
        dictionary = train(options.rounds, options.size)
    if options.out:
        options.out.write_bytes(dictionary)
    if options.samples:
        options.samples.mkdir(parents=True, exist_ok=True)
        for number, one in enumerate(found):
            (options.samples / f"{one.kind}-{number:05}").write_bytes(one.data)
    print(f"{len(dictionary)} bytes; held-out runs:\n\n{report(dictionary, found)}")


if __name__ == "__main__":
    main()
