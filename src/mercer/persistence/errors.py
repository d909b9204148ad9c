"""The error for a file that is not a whole file of Mercer, and its quotes from the file."""

LONGEST = 300  # characters that are repeated


class ModelFileError(ValueError):
    """A model file that cannot be written or read; the message says why and what to do."""


def reason(error: Exception) -> str:
    """The message of an error, made safe to print: files may put anything into it."""
    text = str(error).rstrip(".")
    if not text or type(error) in (KeyError, IndexError, AttributeError, TypeError):  # few words
        text = f"{type(error).__name__} {text}".rstrip()
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
