"""Makes tests/fixtures/blocks/<TYPE>.bin: GGUF blocks and what they mean.

Run from the repository's root, with numpy and the `gguf` package installed:

    python3 tools/golden/make_blocks.py

A file holds 48 rows of one type: the rows' bytes (random, with extreme scales
among them: zero, subnormal, largest, negative; no NaN or infinity), then the
float32 values that gguf.quants.dequantize gives for them, little-endian. The
numbers of rows and elements are those below; tests/kernels/dequantize_test.cpp
knows them.
"""

import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize

ROWS_SMALL = 48  # rows of 32 elements
ROWS_SUPER = 12  # rows of 256 elements

# Type: (bytes of a block, elements, offsets of its binary16 numbers)
BLOCKS = {
    "Q8_0": (34, 32, [0]),
    "Q4_0": (18, 32, [0]),
    "Q4_1": (20, 32, [0, 2]),
    "Q5_0": (22, 32, [0]),
    "Q5_1": (24, 32, [0, 2]),
    "Q4_K": (144, 256, [0, 2]),
    "Q5_K": (176, 256, [0, 2]),
    "Q6_K": (210, 256, [208]),
    "F16": (64, 32, list(range(0, 64, 2))),
    "BF16": (64, 32, []),
}

EXTREMES = np.array(
    [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x3C00],
    dtype=np.uint16,
)


def rows_of(name, rng):
    size, elements, halves = BLOCKS[name]
    rows = ROWS_SMALL if elements == 32 else ROWS_SUPER
    blocks = rng.integers(0, 256, (rows, size), dtype=np.uint8)
    for i, offset in enumerate(halves):
        scale = rng.normal(0, 0.05, rows).astype(np.float16).view(np.uint16)
        n = len(EXTREMES)
        scale[:n] = np.roll(EXTREMES, i)
        blocks[:, offset : offset + 2] = scale.reshape(-1, 1).view(np.uint8)
    if name == "BF16":
        upper = blocks.view(np.uint16)
        # No NaN, no infinity: an exponent of all ones becomes a smaller one.
        upper[(upper & 0x7F80) == 0x7F80] &= 0xBFFF
    return blocks


def main():
    folder = pathlib.Path("tests/fixtures/blocks")
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20260101)
    for name in BLOCKS:
        blocks = rows_of(name, rng)
        with np.errstate(all="ignore"):
            values = dequantize(blocks, Type[name]).astype("<f4")
        assert np.isfinite(values).all(), name
        path = folder / f"{name}.bin"
        path.write_bytes(blocks.tobytes() + values.tobytes())
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
