"""Whether the words of a figure can be read: their colours against the page, as WCAG 2 measures."""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.text import Text


def texts(figure):
    """Every visible text of a figure; labels of ticks exist once it was drawn."""
    figure.canvas.draw()
    return [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]


def contrast(first, second):
    """Ratio of luminances, 1 to 21; 4.5 is asked of small letters."""
    high, low = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour):
    s = np.array(to_rgb(colour))
    linear = np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
