"""Where Gram matrices are made: the place, and the makers that are asked for an operator."""

import pickle
import re

import numpy as np
import pytest

import mercer
from mercer.gram import DenseGram, Place, TiledGram, gram, place, register
from mercer.kernels import RBF, Linear

X = np.random.default_rng(0).normal(size=(30, 2))


def ones(kernel, X, Z, place):
    return DenseGram(np.ones((X.shape[0], Z.shape[0])), Z is X, place=place)


def test_a_place_is_a_value_that_is_checked_when_it_is_made():
    place = Place("2MB", 3)
    assert place == Place("2MB", 3) != Place("2MB")
    assert pickle.loads(pickle.dumps(place)) == place
    assert place.jobs == 3
    for wrong in ({"memory": "2 monkeys"}, {"memory": -1}, {"n_jobs": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Place(**wrong)
    with pytest.raises(TypeError, match="n_jobs"):
        Place(n_jobs=0.5)


def test_what_is_left_beside():
    place = Place(1000, 2, device="cpu")
    assert place.beside(0) is place
    assert place.beside(400) == Place(600, 2, device="cpu")
    assert place.beside(4000).budget() == 1
    assert place.holds(1000)
    assert not place.holds(1001)


def test_an_approximation_for_lack_of_memory_is_said():
    wanted = (
        "memory=1000 is too small for an exact fit: it is approximated, so that answers differ. "
        'Give memory="3MB" or more, or rank=5 to have this without a warning.'
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(wanted)}$") as caught:
        Place(1000).concede(3_000_000, "an exact fit", "rank=5")
    assert caught[0].filename == __file__


def test_little_is_there_without_looking(monkeypatch):
    monkeypatch.setattr(place, "available_memory", lambda: pytest.fail("it was asked"))
    assert Place().holds(10**6)
    assert Place().beside(10**6) == Place()


def test_the_last_maker_is_asked_first_and_can_be_taken_away():
    def twos(kernel, X, Z, place):
        return DenseGram(2 * np.ones((len(X), len(Z)))) if len(X) > 5 else None

    with register(ones):
        assert gram(RBF(), X).dense()[0, 0] == 1
        second = register(twos)
        assert gram(RBF(), X).dense()[0, 0] == 2
        assert gram(RBF(), X[:5]).dense()[0, 0] == 1
        second.close()
        assert gram(RBF(), X).dense()[0, 0] == 1
        assert gram(RBF(), X, rank=3, random_state=0).rank == 1
    assert isinstance(gram(RBF(), X), TiledGram)
    with pytest.raises(KeyError), register(ones):
        raise KeyError
    assert isinstance(gram(RBF(), X), TiledGram)


def test_a_maker_gets_bound_kernel_encoded_samples_and_the_place_of_the_learner():
    asked = []

    def asking(kernel, X, Z, place):
        asked.append((kernel, X.shape, Z is X, place))

    with register(asking):
        model = mercer.KernelRidge(kernel=RBF("scale"), memory="1GB", n_jobs=2).fit(X, X[:, 0])
        model.predict(X[:4])
    assert [(shape, same) for _, shape, same, _ in asked] == [((30, 2), True), ((4, 2), False)]
    assert {place for *_, place in asked} == {Place("1GB", 2)}
    assert all(kernel.gamma == model.kernel_.gamma for kernel, *_ in asked)


@pytest.mark.parametrize("kernel", [RBF(), Linear()])
def test_a_device_without_a_maker_is_refused_with_a_remedy(kernel):
    assert gram(kernel, X, place=Place(device="cpu")).shape == (30, 30)
    with pytest.raises(ValueError, match=r"device='tpu': no maker .* mercer\.gram\.register"):
        gram(kernel, X, place=Place(device="tpu"))
    with register(ones):
        assert gram(kernel, X, place=Place(device="tpu")).place.device == "tpu"
