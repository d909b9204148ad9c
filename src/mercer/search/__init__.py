"""Nearest neighbours under any distance. (Searches for models are in `mercer.selection`.)

`Index` (index.py) is the interface of all indexes, and says how to add one; `BruteForce` (brute.py)
compares everything; `fit_index` (choose.py) takes one by its name. Searches are divided into tiles
in compare.py and rows.py, and files are written and read in files.py. `NeighbourGraph`
(neighbour_graph.py) holds the neighbours of all rows.

`LSHIndex` (lsh.py) finds candidates by the hash functions of families.py and minhash.py, which
readings.py turns samples into rows for. `DescentIndex` (descent.py) walks along a graph of near
rows, and `SampleDescentIndex` (sample_descent.py) along one of samples of any kind.
"""

from mercer.search.brute import BruteForce, KnownNeighbours
from mercer.search.choose import ALGORITHMS, fit_index
from mercer.search.descent import DescentIndex
from mercer.search.families import (
    BitSampling,
    HashFamily,
    Hyperplanes,
    Sensitivity,
    StableProjections,
)
from mercer.search.index import Index
from mercer.search.kd_tree import KDTree
from mercer.search.lsh import LSHIndex
from mercer.search.metric_tree import MetricTree
from mercer.search.minhash import MinHash
from mercer.search.neighbour_graph import NeighbourGraph
from mercer.search.sample_descent import SampleDescentIndex

__all__ = [
    "ALGORITHMS", "BitSampling", "BruteForce", "DescentIndex", "HashFamily", "Hyperplanes", "Index",
    "KDTree", "KnownNeighbours", "LSHIndex", "MetricTree", "MinHash", "NeighbourGraph",
    "SampleDescentIndex", "Sensitivity", "StableProjections", "fit_index",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.search.families import QueryCosts, cheapest, s_curve
from mercer.search.readings import SetReading
from mercer.search.spanning import reachability_tree
