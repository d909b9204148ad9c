"""Classification of texts by attention: what it promises. ``make test-torch`` runs this."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

torch = pytest.importorskip("torch")

import mercer  # noqa: E402
from lanes import few  # noqa: E402
from mercer.deep import AttentionClassifier, FunctionKernel, PositiveFeatures  # noqa: E402
from mercer.deep.attention import token_network  # noqa: E402
from mercer.deep.attention.functional import NAMED  # noqa: E402
from mercer.gram.on_torch import torch_threads  # noqa: E402
from mercer.plots import AttentionDisplay  # noqa: E402
from mercer.testing import parametrize_with_object_checks  # noqa: E402

SMALL = {
    "width": 8, "n_heads": 2, "epochs": 3, "batch_size": 16, "min_count": 1, "random_state": 0,
    "n_jobs": 1,
}  # fmt: skip
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def one_thread():
    with torch_threads(1):
        yield


def sayings(count):
    """Texts that say of something that it is, or that it is not: the order of words tells."""
    things = ["tea", "rain", "work", "music"]
    texts, kinds = [], []
    for _ in range(count):
        first, second = RNG.permutation(things)[:2]
        swap = RNG.random() < 0.5
        texts.append(f"{first} is good and {second} is bad" if swap else
                     f"{first} is bad and {second} is good")  # fmt: skip
        kinds.append("first" if swap else "second")
    return texts, np.array(kinds)


TEXTS, KINDS = sayings(160)


def fitted(**parameters):
    return AttentionClassifier(**{**SMALL, **parameters}).fit(TEXTS[:80], KINDS[:80])


# order of training samples: batches are drawn by their numbers
NOT_HERE = {
    "check_order_of_training_samples": "Adam sees the samples in an order of its own",
    "check_weights": "Adam takes more steps where samples are repeated",
}
SUITE = [
    (AttentionClassifier(**SMALL, tokens="characters"), "strings"),
    (AttentionClassifier(**SMALL), "tokens"), (AttentionClassifier("linear", **SMALL), "bytes"),
]  # fmt: skip


@parametrize_with_object_checks(SUITE, expected_failures=lambda model: NOT_HERE)
def test_objects(check):
    check()


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr", "check_estimator_tags_renamed", "check_get_params_invariance",
        "check_no_attributes_set_in_init", "check_parameters_default_constructible",
        "check_set_params", "check_valid_tag_types",
    ],
)  # fmt: skip
def test_scikit_learn_conventions(check):
    """Those that need no samples: its own are tables, which no classifier of texts can take."""
    getattr(estimator_checks, check)("AttentionClassifier", AttentionClassifier(**SMALL))


@pytest.mark.parametrize("kernel", few(2, NAMED))
def test_every_kernel_reads_the_order_of_words(kernel):
    model = fitted(kernel=kernel, epochs=40, learning_rate=0.02, dropout=0.0)
    assert model.score(TEXTS[80:], KINDS[80:]) > 0.9


def cosine(q, k):
    return 4 * torch.nn.functional.cosine_similarity(q[..., :, None, :], k[..., None, :, :], dim=-1)


class Weighted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.ones(4))

    def forward(self, q, k):
        return (q * self.weights) @ k.mT


def test_functions_as_kernels():
    module = Weighted()
    for kernel in (cosine, FunctionKernel(cosine), module):
        model = fitted(kernel=kernel)
        assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(TEXTS[:3]),
                        model.predict_proba(TEXTS[:3]))  # fmt: skip
    assert torch.equal(module.weights, torch.ones(4))  # a fit leaves its parameters as they were
    assert not np.array_equal(model.weights_["attention.0.of_similarity.0.weights"], np.ones(4))


def test_files_hold_all_of_it(tmp_path):
    for kernel in ("rbf", PositiveFeatures(32, random_state=1)):
        model = fitted(kernel=kernel)
        mercer.save(model, tmp_path / "texts.mercer")
        loaded = mercer.load(tmp_path / "texts.mercer")
        assert_array_equal(loaded.predict_proba(TEXTS[:30]), model.predict_proba(TEXTS[:30]))
    with pytest.raises(mercer.persistence.ModelFileError, match="cosine"):
        mercer.save(fitted(kernel=cosine), tmp_path / "function.mercer")


def test_a_seed_gives_the_same_classifier_and_leaves_torch_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, second, other = fitted(), fitted(), fitted(random_state=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert_array_equal(first.predict_proba(TEXTS), second.predict_proba(TEXTS))
    assert not np.array_equal(first.predict_proba(TEXTS), other.predict_proba(TEXTS))


def test_predictions_do_not_depend_on_what_stands_beside():
    model = fitted()
    texts = [*TEXTS[:5], "tea", "", "tea is good " * 30]
    among = model.predict_proba(texts)
    alone = np.concatenate([model.predict_proba([text]) for text in texts])
    assert_allclose(among, alone, atol=1e-6)


@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_can_be_seen(n_layers, causal):
    model = fitted(n_layers=n_layers, causal=causal)
    texts = ["Tea is good!", ""]
    assert model.tokenise(texts) == [["tea", "is", "good", "!"], []]
    found, nothing = model.attention(texts, layer=-1)
    assert found.shape == (2, 4, 4)
    assert nothing.shape == (2, 0, 0)
    assert_allclose(found.sum(axis=2), 1, rtol=1e-6)
    assert np.any(np.triu(found[0], 1)) != causal
    with pytest.raises(ValueError, match=f"layer=2: give a number from 0 to {n_layers - 1}"):
        model.attention(texts, layer=2)
    display = AttentionDisplay.from_estimator(model, texts[0])
    assert_allclose(display.weights, model.attention(texts)[0].mean(axis=0))
    assert display.ax_.get_title() == "rbf"
    one = AttentionDisplay.from_estimator(model, texts[0], head=1)
    assert_allclose(one.weights, model.attention(texts)[0][1])
    with pytest.raises(ValueError, match="head=2: give a number from 0 to 1"):
        AttentionDisplay.from_estimator(model, texts[0], head=2)


def test_tokens_that_are_rare_or_late_are_left_out():
    texts = ["a b a", "a c a", "b a d"] * 3
    model = AttentionClassifier(**{**SMALL, "min_count": 7}, max_length=2).fit(texts, [0, 1, 0] * 3)
    assert model.vocabulary_ == ["a"]
    assert model.tokenise(["x y z"]) == [["x", "y"]]
    assert_allclose(*(model.predict_proba([text]) for text in ("a b", "a c d")))


@pytest.mark.parametrize(("batches", "epochs"), [(1, 0), (6, 1), (11, 2)])
def test_what_was_cut_is_the_last_whole_epoch(batches, epochs, monkeypatch):
    whole = fitted()  # an epoch has five batches
    model, calls = clone(whole), []

    def stop():
        calls.append(1)
        if len(calls) > batches:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(token_network, "raise_if_stopped", stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(TEXTS[:80], KINDS[:80])
    if epochs == 0:
        with pytest.raises(NotFittedError):
            model.predict(TEXTS[:5])
    else:
        assert model.n_iter_ == len(model.objective_path_) == epochs
        assert_array_equal(model.objective_path_, whole.objective_path_[:epochs])
        assert np.isfinite(model.predict_proba(TEXTS[:5])).all()


def test_progress_is_printed(capsys):
    model = fitted(verbose=True, epochs=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"epoch 2 of 2: loss {model.objective_path_[1]:.4f}"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"kernel": "laplace"}, "kernel='laplace'"), ({"kernel": "linear", "scale": 2.0}, "no scale"),
     ({"device": "abacus"}, "device='abacus'")],
)  # fmt: skip
def test_what_torch_refuses_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(**parameters)


def test_a_sample_counts_by_its_weight():
    """Texts of both classes with the same words: the heavier class is what they are taken for."""
    texts, kinds = ["tea", "tea", "rain"] * 20, ["a", "b", "c"] * 20
    weights = np.array([5.0, 1.0, 1.0] * 20)
    model = AttentionClassifier(**SMALL | {"epochs": 40, "learning_rate": 0.02})
    chances = model.fit(texts, kinds, weights).predict_proba(["tea"])[0]
    assert chances[0] > 0.7 > 0.3 > chances[1] > chances[2]
    swapped = model.fit(texts, kinds, np.array([1.0, 5.0, 1.0] * 20)).predict_proba(["tea"])[0]
    assert swapped[1] > 0.7


def test_a_sample_of_weight_0_is_as_one_that_is_not_there():
    weights = np.r_[np.ones(80), np.zeros(2)]
    texts, kinds = [*TEXTS[:80], "snow", "snow"], [*KINDS[:80], "third", "third"]
    model = AttentionClassifier(**SMALL).fit(texts, kinds, weights)
    assert list(model.classes_) == ["first", "second"]
    assert "snow" not in model.vocabulary_
    assert_array_equal(model.predict_proba(TEXTS[80:]), fitted().predict_proba(TEXTS[80:]))
