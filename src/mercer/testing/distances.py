"""The contract of distances: tests to inherit (see `mercer.testing.kernels`)."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer.distances import Distance


class DistanceContract:
    """Tests for every distance. Define ``distance``, ``samples`` and, if you can, ``twin``."""

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
