"""The contracts of kernels and of distances: tests that the test class of one inherits.

Subclass `KernelContract` in a test module and define the two fixtures. Define ``twin`` too if you
can: a slow, simple way to compute the same values::

    class TestMyKernel(KernelContract):
        @pytest.fixture
        def kernel(self):
            return MyKernel(length=2)

        @pytest.fixture
        def samples(self):
            return my_raw_samples()

        def twin(self, kernel, samples):
            return np.array([[slowly(x, z) for z in samples] for x in samples])

`DistanceContract` is used in the same way, with a fixture ``distance``.
"""

from __future__ import annotations

import pickle
from itertools import chain
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer.distances import Distance, dense_rows
from mercer.kernels import Kernel, NotSeparable, Radial, check_mercer
from mercer.samples import Categories, Table


class DistanceContract:
    """Tests for every distance. Define ``distance``, ``samples`` and, if you can, ``twin``.

    Examples
    --------
    >>> import pytest
    >>> from mercer.distances import Minkowski
    >>> class TestMinkowski(DistanceContract):
    ...     distance = pytest.fixture(lambda self: Minkowski(3))
    ...     samples = pytest.fixture(lambda self: np.eye(5))
    """

    @pytest.fixture
    def distance(self) -> Distance:
        raise NotImplementedError(
            "Define a fixture `distance` that returns the distance, not yet bound."
        )

    @pytest.fixture
    def samples(self) -> Any:
        raise NotImplementedError("Define a fixture `samples` that returns 4 to 30 raw samples.")

    def twin(self, distance: Distance, samples: Any) -> np.ndarray | None:
        """All distances between the samples, computed in a slow way; None means no twin."""
        return None

    @pytest.fixture
    def encoded(self, distance, samples):
        return distance.encode(samples)

    @pytest.fixture
    def bound(self, distance, encoded):
        return distance.bind(encoded)

    def test_block_equals_its_slow_twin(self, distance, samples, encoded, bound):
        expected = self.twin(distance, samples)
        if expected is None:
            pytest.skip("no twin was given")
        # the square root of a rounding error of 1e-15 is 3e-8
        assert_allclose(bound.block(encoded, encoded), expected, rtol=1e-7, atol=1e-7)

    def test_symmetric_and_not_negative(self, bound, encoded):
        D = bound.block(encoded, encoded)
        assert (D >= 0).all()
        assert_allclose(D, D.T, rtol=1e-9, atol=1e-9)

    def test_zero_to_itself(self, bound, encoded):
        D = bound.block(encoded, encoded).diagonal()
        if bound.reflexive:
            assert_allclose(D, 0, atol=1e-7)
        else:
            assert D.max() > 0, "reflexive = False, but every sample is at distance 0 from itself"

    def test_triangle_inequality_of_a_metric(self, bound, encoded):
        if not bound.metric:
            pytest.skip("the distance says that it is not a metric")
        D = bound.block(encoded, encoded)
        detour = (D[:, :, None] + D[None, :, :]).min(axis=1)
        assert (detour + 1e-7 >= D).all()

    def test_listed_pairs_are_those_of_all_pairs(self, bound, encoded):
        D = bound.raw(encoded, encoded[:])
        n = len(D)
        rng = np.random.default_rng(0)
        pairs = rng.integers(0, n, (3 * n, 2))
        for listed in (pairs[np.argsort(pairs[:, 0])], pairs, pairs[:1], pairs[:0]):
            i, j = listed.T
            wanted = D[i, j]
            prepared = bound.prepare(encoded)
            for X, Z in ((encoded, encoded[:]), (prepared, prepared)):
                found = bound.of_pairs(X, Z, listed, np.full(len(listed), np.inf))
                assert found.dtype == np.float64
                assert_allclose(found.astype(D.dtype), wanted, rtol=1e-9, atol=1e-9)
                limits = np.where(rng.random(len(listed)) < 0.5, np.median(D), wanted)
                found = bound.of_pairs(X, Z, listed, limits)
                near = wanted <= limits
                assert_allclose(found[near], wanted[near], rtol=1e-9, atol=1e-9)
                assert (found[~near] > limits[~near]).all()

    def test_powers_that_make_a_kernel_do(self, bound, encoded):
        power = bound.definite_up_to
        if not power:
            pytest.skip("the distance names no power that makes a kernel")
        D = bound.block(encoded, encoded) ** power
        centred = D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean()
        assert np.linalg.eigvalsh(centred)[-1] <= 1e-9 * np.abs(D).sum(), (
            f"exp(-γ ρ^{power}) is not positive semidefinite, as definite_up_to says"
        )

    def test_raw_is_a_power_of_the_distance(self, bound, encoded):
        raw, D = bound.raw(encoded, encoded), bound.block(encoded, encoded)
        assert_allclose(raw, D**bound.exponent, rtol=1e-9, atol=1e-9)
        raw[:] = -1  # the caller may overwrite it
        assert_allclose(bound.block(encoded, encoded), D)

    def test_block_of_some_rows_is_a_block_of_the_whole(self, bound, encoded):
        D = bound.block(encoded, encoded)
        i, j = np.array([3, 0, 2]), slice(1, encoded.shape[0] - 1)
        assert_allclose(bound.block(encoded[i], encoded[j]), D[i][:, j], rtol=1e-7, atol=1e-7)

    def test_prepared_rows_give_the_same_values(self, bound, encoded):
        """Rows are prepared once, and selected by slices or by numbers."""
        D, n = bound.raw(encoded, encoded), encoded.shape[0]
        A, B = bound.sides(encoded, encoded)
        assert A is B
        i, j = np.array([n - 1, 0, 2]), slice(1, n - 1)
        for rows, columns in ((i, j), (j, i), (j, j), (slice(None), slice(0, 2)), (i, i)):
            part = bound.raw(A[rows], B[columns])
            assert_allclose(part, D[rows][:, columns], rtol=1e-7, atol=1e-7)
        some, training = bound.sides(encoded[i], encoded)
        assert_allclose(bound.raw(some, training), D[i], rtol=1e-7, atol=1e-7)
        assert_allclose(bound.within(some, training, np.inf), D[i], rtol=1e-7, atol=1e-7)

    def test_float32_agrees_with_float64(self, bound, encoded):
        if not isinstance(encoded, np.ndarray):
            pytest.skip("only samples that are arrays have a precision")
        numbers = {k: np.float64(v) for k, v in bound.get_params().items() if type(v) is float}
        bound = bound.copied(**numbers)  # numbers of a grid must not turn float32 into float64
        short = encoded.astype(np.float32)
        D32 = bound.raw(short, short)
        assert D32.dtype == np.float32
        D = bound.raw(encoded, encoded)
        assert_allclose(D32, D, rtol=1e-4, atol=1e-3 * max(1, D.max()))

    def test_parameters_survive_clone_and_pickle(self, distance, bound, encoded):
        for original in (distance, bound):
            assert repr(clone(original)) == repr(original)
        revived = pickle.loads(pickle.dumps(bound))
        assert_allclose(revived.block(encoded, encoded), bound.block(encoded, encoded))

    def test_bind_leaves_the_parameters_alone(self, distance, encoded):
        before = repr(distance)
        bound = distance.bind(encoded)
        assert repr(distance) == before
        again = bound.bind(encoded[:2])
        assert_allclose(again.block(encoded, encoded), bound.block(encoded, encoded))


class KernelContract:
    """Tests for every kernel. Define ``kernel`` and ``samples``, and ``twin`` if you can.

    ``samples`` are 4 to 30 raw samples, as a user would give them.

    Examples
    --------
    >>> import pytest
    >>> from mercer.kernels import RBF
    >>> class TestRBF(KernelContract):
    ...     kernel = pytest.fixture(lambda self: RBF(0.5))
    ...     samples = pytest.fixture(lambda self: np.eye(5))
    """

    @pytest.fixture
    def kernel(self) -> Kernel:
        raise NotImplementedError(
            "Define a fixture `kernel` that returns the kernel, not yet bound."
        )

    @pytest.fixture
    def samples(self) -> Any:
        raise NotImplementedError("Define a fixture `samples` that returns 4 to 30 raw samples.")

    def twin(self, kernel: Kernel, samples: Any) -> np.ndarray | None:
        """The Gram matrix of the samples, computed in a slow way; None means no twin."""
        return None

    @pytest.fixture
    def encoded(self, kernel, samples):
        return kernel.encode(samples)

    @pytest.fixture
    def bound(self, kernel, encoded):
        return kernel.bind(encoded)

    def test_block_equals_its_slow_twin(self, kernel, samples, encoded, bound):
        expected = self.twin(kernel, samples)
        if expected is None:
            pytest.skip("no twin was given")
        K = bound.block(encoded, encoded)
        assert_allclose(K, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())

    def test_gram_is_symmetric(self, bound, encoded):
        if not bound.symmetric:
            pytest.skip("the kernel says that it is not symmetric")
        K = bound.block(encoded, encoded)
        assert_allclose(K, K.T, rtol=1e-12, atol=1e-12 * np.abs(K).max())

    def test_gram_is_positive_semidefinite(self, kernel, samples):
        if kernel.positive_definite is not True:
            pytest.skip("the kernel does not say that it is positive semidefinite")
        check = check_mercer(kernel, samples)
        assert check.positive_definite, str(check)

    def test_its_terms_multiply_and_add_to_it(self, bound, encoded):
        """Explanations rest on these: each factor reads the columns of its player alone."""
        columns = [0]
        if isinstance(encoded, Table):
            columns = list(dict.fromkeys(c for _, own in encoded.groups for c in own))
        elif bound.reads.coordinates or isinstance(encoded, Categories):
            columns = list(range(encoded.shape[1]))
        K = bound.block(encoded, encoded)
        for step in (1, 2):
            players = {c: i // step for i, c in enumerate(columns)}
            try:
                terms = bound.separated(encoded, players)
            except NotSeparable:
                continue
            total = np.zeros(K.shape)
            for weight, factors in terms:
                product = np.full(K.shape, weight)
                for kernel in chain.from_iterable(factors.values()):
                    product *= kernel.block(encoded, encoded)
                total += product
            assert_allclose(total, K, rtol=1e-9, atol=1e-9 * np.abs(K).max())

    def test_its_symbols_have_parts_that_sum_to_it(self, bound, encoded):
        """Values of letters rest on these."""
        coef = np.linspace(-1, 1, 2 * encoded.shape[0]).reshape(-1, 2)
        try:
            parts = bound.symbol_parts(encoded, encoded, coef)
        except NotSeparable:
            pytest.skip("the kernel is no sum over substrings")
        expected = bound.block(encoded, encoded) @ coef
        sums = np.array([part.sum(axis=0) for part in parts])
        assert_allclose(sums, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())

    def test_diag_is_the_diagonal(self, bound, encoded):
        K = bound.block(encoded, encoded)
        diag = bound.diag(encoded)
        assert diag.shape == (encoded.shape[0],)
        assert_allclose(diag, K.diagonal(), rtol=1e-9, atol=1e-9 * np.abs(K).max())

    def test_block_of_some_rows_is_a_block_of_the_gram(self, bound, encoded):
        K = bound.block(encoded, encoded)
        n = encoded.shape[0]
        i, j = np.array([n - 1, 0, 2]), slice(1, n - 1)
        for rows, columns in ((i, j), (slice(0, 1), i), (slice(n - 1, n), slice(0, 1))):
            part = bound.block(encoded[rows], encoded[columns])
            assert_allclose(part, K[rows][:, columns], rtol=1e-9, atol=1e-9 * np.abs(K).max())

    def test_prepared_rows_give_the_same_block(self, bound, encoded):
        """Rows are prepared once, and selected by slices or by numbers."""
        K = bound.block(encoded, encoded)
        n, scale = encoded.shape[0], np.abs(K).max()
        A, B = bound.sides(encoded, encoded)
        assert A is B
        assert bound.sides(A, B) == (A, B)
        assert_allclose(bound.diag(A), K.diagonal(), rtol=1e-9, atol=1e-9 * scale)
        i, j, every = np.array([n - 1, 0, 2]), slice(1, n - 1), np.arange(n)
        for rows, columns in ((i, j), (j, i), (j, j), (slice(None), slice(0, 2)), (i, i), (j, j)):
            part, expected = bound.block(A[rows], B[columns]), K[rows][:, columns]
            # the distance from a row to its copy is 0 up to rounding, which some kernels enlarge
            copies = every[rows][:, None] == every[columns]
            assert_allclose(part[~copies], expected[~copies], rtol=1e-9, atol=1e-9 * scale)
            assert_allclose(part[copies], expected[copies], rtol=1e-3, atol=1e-3 * scale)
        some, training = bound.sides(encoded[i], encoded)
        assert some.shape[0] == 3
        assert_allclose(bound.block(some, training), K[i], rtol=1e-3, atol=1e-3 * scale)
        assert_allclose(bound.diag(some), K.diagonal()[i], rtol=1e-9, atol=1e-9 * scale)
        assert_allclose(bound.whole(encoded, encoded), K, rtol=1e-9, atol=1e-9 * scale)

    def test_block_is_a_fresh_array(self, bound, encoded):
        first = bound.block(encoded, encoded)
        expected = first.copy()
        first[:] = 7
        assert_allclose(bound.block(encoded, encoded), expected)
        assert first.flags.c_contiguous

    def test_new_samples_continue_the_codes(self, bound, encoded, samples):
        again = bound.encode(samples, like=encoded)
        K = bound.block(encoded, encoded)
        assert_allclose(bound.block(again, encoded), K, rtol=1e-9, atol=1e-9 * np.abs(K).max())

    def test_float32_agrees_with_float64(self, bound, encoded):
        if not isinstance(encoded, np.ndarray):
            pytest.skip("only samples that are arrays have a precision")
        K = bound.block(encoded, encoded)
        numbers = {k: np.float64(v) for k, v in bound.get_params().items() if type(v) is float}
        bound = bound.copied(**numbers)  # numbers of a grid must not turn float32 into float64
        short = encoded.astype(np.float32)
        K32 = bound.block(short, short)
        assert K.dtype == np.float64
        assert K32.dtype == np.float32
        assert bound.diag(short).dtype == np.float32
        assert_allclose(K32, K, rtol=1e-3, atol=1e-3 * np.abs(K).max())

    def test_sparse_rows_agree_with_dense_rows(self, bound, encoded):
        if not isinstance(encoded, np.ndarray) or not bound.symmetric:
            pytest.skip("not a symmetric kernel on vectors")
        rows = sp.csr_array(encoded)
        K = bound.block(rows, rows)
        expected = bound.block(encoded, encoded)
        scale = np.abs(expected).max()
        assert_allclose(K, expected, rtol=1e-7, atol=1e-7 * scale)
        assert_allclose(bound.diag(rows), bound.diag(encoded), rtol=1e-9, atol=1e-9 * scale)

    def test_block_equals_inner_products_of_features(self, bound, encoded):
        if not hasattr(bound, "features"):
            pytest.skip("the kernel has no method features")
        F = bound.features(encoded)
        K = bound.block(encoded, encoded)
        assert_allclose(dense_rows(F @ F.T), K, rtol=1e-9, atol=1e-9 * np.abs(K).max())

    def test_profile_derivative_is_the_slope_of_the_profile(self, bound, encoded):
        if not isinstance(bound, Radial):
            pytest.skip("the kernel is not a function of a distance")
        D = np.linspace(0.2, 3, 7)
        h = 1e-6
        slope = (bound.profile(D + h) - bound.profile(D - h)) / (2 * h)
        assert_allclose(bound.profile_derivative(D), slope, rtol=1e-6, atol=1e-8)

    def test_parameters_survive_clone_set_and_pickle(self, kernel, bound, encoded):
        for original in (kernel, bound):
            copy: Any = clone(original)
            assert repr(copy) == repr(original)
            copy.set_params(**original.get_params(deep=False))
            assert repr(copy) == repr(original)
        revived = pickle.loads(pickle.dumps(bound))
        assert_allclose(revived.block(encoded, encoded), bound.block(encoded, encoded))

    def test_bind_leaves_the_parameters_alone(self, kernel, encoded):
        before = repr(kernel)
        bound = kernel.bind(encoded)
        assert repr(kernel) == before
        assert bound.bind(encoded[:2]) is bound, "a bound kernel must not learn anything more"

    def test_a_single_sample(self, kernel, samples, bound, encoded):
        one = bound.block(encoded[:1], encoded[:1])
        assert one.shape == (1, 1)
        assert np.isfinite(one).all()
