"""The line that says what to install where torch is not there."""

from __future__ import annotations


def need_torch(name: str) -> None:
    """Raise ImportError if torch is not installed; ``name`` is what needs it."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{name} needs torch, which is not installed: pip install "mercer[torch]".'
        ) from error
