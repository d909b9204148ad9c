"""Streams: samples that are read in chunks, because they are larger than the memory."""

from mercer.streams.checkpoint import Checkpoint, IncrementalFit, fit_stream
from mercer.streams.chunks import Chunk, Chunks, Drawn, as_chunks, draw_numbers, draw_rows
from mercer.streams.kept_rows import count_rows, join_rows, plain_columns, plain_form, take_rows
from mercer.streams.sources import told

__all__ = [
    "Checkpoint", "Chunk", "Chunks", "Drawn", "IncrementalFit", "as_chunks", "count_rows",
    "draw_numbers", "draw_rows", "fit_stream", "join_rows", "plain_columns", "plain_form",
    "take_rows", "told",
]  # fmt: skip
