"""Nearest neighbours under any distance. (Searches for models are in `mercer.selection`.)

`Index` (index.py) is the interface of all indexes, and says how to add one; `BruteForce` (brute.py)
compares everything; `fit_index` (choose.py) takes one by its name. Searches are divided into tiles
in compare.py and rows.py, and files are written and read in files.py.

`LSHIndex` (lsh.py) finds candidates by the hash functions of families.py and minhash.py, which
readings.py turns samples into rows for. `GraphIndex` (graph.py) gets them from another library.
"""

from mercer.search.brute import BruteForce
from mercer.search.choose import ALGORITHMS, fit_index
from mercer.search.families import (
    BitSampling,
    HashFamily,
    Hyperplanes,
    Sensitivity,
    StableProjections,
)
from mercer.search.graph import GraphIndex
from mercer.search.index import Index
from mercer.search.kd_tree import KDTree
from mercer.search.known import KnownNeighbours
from mercer.search.lsh import LSHIndex
from mercer.search.metric_tree import MetricTree
from mercer.search.minhash import MinHash

__all__ = [
    "ALGORITHMS", "BitSampling", "BruteForce", "GraphIndex", "HashFamily", "Hyperplanes", "Index",
    "KDTree", "KnownNeighbours", "LSHIndex", "MetricTree", "MinHash", "Sensitivity",
    "StableProjections", "fit_index",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.search.families import Costs, cheapest, s_curve
from mercer.search.metric_tree import check_leaf_size
from mercer.search.readings import SetReading
