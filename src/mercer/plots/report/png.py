"""Matrices as PNG files of 256 colours, written only with the standard library."""

from __future__ import annotations

import struct
import zlib

import numpy as np

#: colours of cividis, which looks the same to colour-blind readers (Nuñez et al., PLOS ONE 2018)
ANCHORS = np.array([
    (0, 32, 77), (0, 48, 111), (57, 72, 107), (92, 99, 109), (123, 123, 120),
    (156, 148, 118), (192, 175, 107), (229, 205, 84), (255, 234, 70),
])  # fmt: skip
AT = np.linspace(0, len(ANCHORS) - 1, 256)
PALETTE = np.stack(
    [np.interp(AT, np.arange(len(ANCHORS)), channel) for channel in ANCHORS.T], axis=1
)
PALETTE = PALETTE.round().astype(np.uint8)


def levels(K: np.ndarray, low: float, high: float) -> np.ndarray:
    """Values as levels 0 (low and below) to 255 (high and above)."""
    scale = 255 / (high - low) if high > low else 0.0
    return np.clip(np.rint((K - low) * scale), 0, 255).astype(np.uint8)


def indexed_png(pixels: np.ndarray) -> bytes:
    """A PNG image of ``pixels`` of shape (height, width), each an index into `PALETTE`.

    Examples
    --------
    >>> indexed_png(np.zeros((2, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    rows = np.hstack([np.zeros((height, 1), np.uint8), pixels.astype(np.uint8)])  # filter 0
    chunks = [(b"IHDR", header), (b"PLTE", PALETTE.tobytes()),
              (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
