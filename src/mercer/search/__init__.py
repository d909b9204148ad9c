"""Nearest neighbours under any distance.

`Index` (index.py) is the interface of all indexes, and says how to add one; `BruteForce` (brute.py)
compares everything; `fit_index` (choose.py) takes one by its name. Searches are divided into tiles
in compare.py and rows.py, and files are written and read in files.py and skeleton.py.
"""

from mercer.search.brute import BruteForce
from mercer.search.choose import ALGORITHMS, fit_index
from mercer.search.index import Index
from mercer.search.kd_tree import KDTree
from mercer.search.metric_tree import MetricTree

__all__ = ["ALGORITHMS", "BruteForce", "Index", "KDTree", "MetricTree", "fit_index"]
