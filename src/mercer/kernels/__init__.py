"""Similarities: kernels on vectors and on all other kinds of samples, and their algebra."""

from typing import TYPE_CHECKING

from mercer.distances import Meaning
from mercer.kernels.additive import Additive
from mercer.kernels.algebra import Convex, Exponential, Power, Product, Scaled, Sum
from mercer.kernels.alignment import KDTW, EditRBF, GlobalAlignment, SoftDTWRBF
from mercer.kernels.arc_cosine import ArcCosine, NeuralNetworkGP, NeuralTangent
from mercer.kernels.bags import Bhattacharyya, GaussianMeanMap, MeanMap
from mercer.kernels.base import Formula, GramProducts, Kernel, Layer, NotSeparable, Radial, Term
from mercer.kernels.convolution import Convolutions
from mercer.kernels.dot import ANOVA, AllSubsets, Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.from_function import FromDistance, FromFunction, Precomputed, as_kernel
from mercer.kernels.graph_counts import VertexHistogram, WeisfeilerLehman, WLOptimalAssignment
from mercer.kernels.graph_parts import Graphlets, Propagation, ShortestPath
from mercer.kernels.kmers import Spectrum
from mercer.kernels.layered import Layered, NormalisedGaussian
from mercer.kernels.local_alignment import LocalAlignment
from mercer.kernels.matern import ExponentialPower, Matern, RationalQuadratic
from mercer.kernels.mercer_check import MercerCheck, check_mercer, repair
from mercer.kernels.mismatches import GappedKmer, Mismatch
from mercer.kernels.molecules import AtomAssignment, AtomPairs, Descriptors, Morgan, Torsions
from mercer.kernels.nodes import Diffusion, PStepWalk, RegularisedLaplacian
from mercer.kernels.query_key import QueryKey
from mercer.kernels.radial import RBF, Laplacian, scale_gamma
from mercer.kernels.separable import OnCoordinates, OneTerm, product_of_columns, sum_of_columns
from mercer.kernels.sets import (
    ChiSquared,
    DerivedSubsets,
    Dice,
    HistogramIntersection,
    Intersection,
    Jaccard,
    Tanimoto,
)
from mercer.kernels.signatures import Signature
from mercer.kernels.subsequences import AllSubsequences, FixedLengthSubsequences, GapWeighted
from mercer.kernels.tables import Match, On, TableKernel
from mercer.kernels.transforms import Centred, Mapped, Modulated, Normalised
from mercer.kernels.trees import PartialTree, SubsetTree, Subtree
from mercer.kernels.walks import RandomWalk
from mercer.kernels.weighted_degree import WeightedDegree
from mercer.renamed import old_name

__all__ = [
    "ANOVA", "KDTW", "RBF", "Additive", "AllSubsequences", "AllSubsets", "ArcCosine",
    "AtomAssignment", "AtomPairs", "Bhattacharyya", "Centred", "ChiSquared", "Convex",
    "Convolutions", "Cosine", "DerivedSubsets", "Descriptors", "Dice", "Diffusion", "EditRBF",
    "Exponential", "ExponentialPower", "FixedLengthSubsequences", "Formula", "FromDistance",
    "FromFunction", "GapWeighted", "GappedKmer", "GaussianMeanMap", "GlobalAlignment",
    "GramProducts", "Graphlets", "HistogramIntersection", "Intersection", "Jaccard", "Kernel",
    "Laplacian", "Layer", "Layered", "Linear", "LocalAlignment", "Mapped", "Match", "Matern",
    "MeanMap", "Meaning", "MercerCheck", "Mismatch", "Modulated", "Morgan", "NeuralNetworkGP",
    "NeuralTangent", "Normalised", "NormalisedGaussian", "NotSeparable", "On", "PStepWalk",
    "PartialTree", "Polynomial", "Power", "Precomputed", "Product", "Propagation", "QueryKey",
    "Radial", "RandomWalk", "RationalQuadratic", "RegularisedLaplacian", "Scaled", "ShortestPath",
    "Sigmoid", "Signature", "SoftDTWRBF", "Spectrum", "SubsetTree", "Subtree", "Sum", "TableKernel",
    "Tanimoto", "Term", "Torsions", "VertexHistogram", "WLOptimalAssignment", "WeightedDegree",
    "WeisfeilerLehman", "as_kernel", "check_mercer", "product_of_columns", "repair",
    "sum_of_columns",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.kernels.algebra import Node
from mercer.kernels.bags import bag_kernel
from mercer.kernels.convolution import (
    CompetingConvolutions,
    FeatureMap,
    FixedConvolutions,
    ScaledCounts,
    WithDifferences,
)
from mercer.kernels.from_function import NAMED
from mercer.kernels.graph_counts import (
    colours as node_colours,
    graph_distance,
    graph_kernel,
    label_counter,
)
from mercer.kernels.sets import histogram_gamma
from mercer.kernels.trees import subtree_counter, subtree_kernel, tree_distance, tree_kernel

if not TYPE_CHECKING:  # for type checkers there are no old names

    def __getattr__(name: str) -> object:
        return old_name(__name__, name)
