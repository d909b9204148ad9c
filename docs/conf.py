"""Sphinx configuration: numpydoc API pages and an executed gallery."""

import os
import sys
from pathlib import Path

import mercer

sys.path.append(str(Path(__file__).parent))  # mathml.py, chapters.py and so on

import summaries

project = "Mercer"
author = "The Mercer developers"
copyright = "2026, the Mercer developers"
release = version = mercer.__version__

extensions = [
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "mathml",
    "chapters",
    "ratios",
    "cell_forms",
    "kind_pictures",
    "summaries",
    "as_markdown",
    "narrow",
    "sphinx_gallery.gen_gallery",
]
default_role = "py:obj"  # names in single backticks
html_math_renderer = "mathml"
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"  # the docstrings say types, shapes and ranges
autodoc_default_options = {"members": True, "inherited-members": False}
# methods that scikit-learn generates refer to its own glossary and labels; functions of templates
# are not kept from build to build
suppress_warnings = ["ref.term", "ref.ref", "config.cache"]
exclude_patterns = ["_build", "examples"]
templates_path = ["templates"]
autosummary_context = {"short": summaries.short, "shown": summaries.shown}

# a minute and more for one of them, on two cores; `make docs LONG_PAGES=no` does not run these
LONG = ("sizes", "local_ridge", "nodes")
left_out = f"(?!{'|'.join(LONG)})" if os.environ.get("LONG_PAGES") == "no" else ""
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": f"plot_{left_out}",
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
    # the last line of an example often returns a part of the picture, which says nothing in words
    "ignore_repr_types": r"matplotlib|mercer\.plots",
}

html_theme = "pydata_sphinx_theme"
html_title = "Mercer"
html_show_sourcelink = False
html_static_path = ["static"]
html_favicon = "static/logo.svg"
html_css_files = ["mercer.css"]
html_theme_options = {
    "logo": {"text": "Mercer", "image_light": "static/logo.svg", "image_dark": "static/logo.svg"},
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
}
# these pages have nothing below them that a side bar could show
ALONE = ("index", "tutorial", "install", "choose", "errors", "search", "genindex")
html_sidebars = {name: [] for name in ALONE}
