"""Pages of the documentation as Markdown (docs/as_markdown.py), from a page with every part."""

import sys
from pathlib import Path

import pytest

publish = pytest.importorskip("docutils.core").publish_doctree

PAGE = """
Title
=====
Some *words*, **more**, ``code``, :math:`x^2` and `a link <https://example.org/a.html>`_.

Part
----
- one
- two

  >>> 1 + 1
  2

1. first

.. math:: y = x

.. comment

.. raw:: html

   <details class="folded"><summary>Solution</summary>

====  =====
a     b | c
====  =====
1     2
====  =====
"""
WANTED = """\
# Title

Some *words*, **more**, `code`, $x^2$ and [a link](https://example.org/a.html).

## Part

- one
- two

  ```python
  >>> 1 + 1
  2
  ```

1. first

$$
y = x
$$

**Solution**

| a | b \\| c |
| --- | --- |
| 1 | 2 |
"""


def test_page_becomes_markdown(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "docs"))
    from as_markdown import Markdown

    assert Markdown(publish(PAGE, settings_overrides={"doctitle_xform": False})).text() == WANTED
    sys.modules.pop("as_markdown")


def test_links_and_images_lead_to_pages_and_their_folder(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "docs"))
    from as_markdown import Markdown

    picture = ".. image:: images/a.png\n   :alt: What\n      it shows\n   :target: images/a.png\n"
    page = f"`here <other.html#part>`_\n\n{picture}"
    text = Markdown(publish(page), "../").text()
    assert text == "[here](other.md#part)\n\n![What it shows](../_images/a.png)\n"
    sys.modules.pop("as_markdown")
