"""Attention by any kernel: each against autograd on the whole matrix, and the identities between
them. ``make test-torch`` runs this."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from mercer.deep import (  # noqa: E402
    FunctionKernel,
    KernelAttention,
    PositiveFeatures,
    attention_weights,
    kernel_attention,
)
from mercer.deep.attention import tiles  # noqa: E402
from mercer.deep.attention.functional import NAMED  # noqa: E402
from mercer.gram import gram  # noqa: E402
from mercer.gram.on_torch import torch_threads  # noqa: E402

PAIRS = ("dot_product", "rbf", "distance", "quadratic", "intersection")
FEATURES = ("linear", "random_features")


def laplacian(q, k):
    return torch.tanh(q @ k.mT) - torch.cdist(q, k, p=1)


def squares(q, k):
    return (q @ k.mT).square() + 0.1


KERNELS = [*PAIRS, laplacian, FunctionKernel(squares, exponentiated=False), *FEATURES]
#: kernels with features take masks of keys alone
MASKED = [
    (kernel, mask)
    for kernel in KERNELS
    for mask in ("none", "keys", "nothing", *(() if kernel in FEATURES else ("matrix", "added")))
]


@pytest.fixture(autouse=True)
def one_thread():
    with torch_threads(1):
        torch.manual_seed(0)
        yield


@pytest.fixture
def small_tiles(monkeypatch):
    """Several tiles of a short sequence."""
    monkeypatch.setattr(tiles, "ROWS", 5)
    monkeypatch.setattr(tiles, "CAUSAL_ROWS", 3)
    monkeypatch.setattr(tiles, "COLUMNS", 7)


def parts(length=17, count=19, lead=(2, 3), dtype=torch.float64):
    return [
        torch.randn(*lead, rows, columns, dtype=dtype, requires_grad=True)
        for rows, columns in ((length, 4), (count, 4), (count, 5))
    ]


def mask_of(name, length=17, count=19):
    if name == "none":
        return None
    if name == "matrix":
        return torch.rand(2, 1, length, count) > 0.4
    if name == "added":
        return torch.randn(3, length, count, dtype=torch.float64, requires_grad=True)
    return torch.rand(2, 1, 1, count) > 0.4 if name == "keys" else torch.zeros(1, count) > 0


def name_of(value):
    return value if isinstance(value, str) else getattr(value, "__name__", "function")


def by_matrix(q, k, v, mask, causal, kernel, **options):
    return attention_weights(q, k, mask, causal, kernel=kernel, **options) @ v


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("kernel", "mask_name"), MASKED, ids=name_of)
def test_outputs_and_gradients_are_those_of_the_matrix(kernel, causal, mask_name, small_tiles):
    q, k, v = parts()
    mask = mask_of(mask_name)
    inputs = [q, k, v, *([mask] if mask_name == "added" else [])]
    found = kernel_attention(q, k, v, mask, is_causal=causal, kernel=kernel)
    wanted = by_matrix(q, k, v, mask, causal, kernel)
    assert_allclose(found.detach(), wanted.detach(), rtol=0, atol=1e-12)
    g = torch.randn_like(found)
    for one, other in zip(*(torch.autograd.grad(out, inputs, g) for out in (found, wanted))):
        assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", PAIRS)
def test_weights_are_the_formulas(kernel):
    q, k, _ = (part.detach()[0, 0] for part in parts(4, 6))
    logs = {
        "dot_product": lambda x, z: x @ z, "rbf": lambda x, z: -((x - z) ** 2).sum(),
        "intersection": lambda x, z: np.minimum(x, z).sum(),
    }  # fmt: skip
    values = {
        "distance": lambda x, z: np.linalg.norm(x - z), "quadratic": lambda x, z: (x @ z) ** 2,
    }  # fmt: skip
    pairs = {**values, **{n: lambda x, z, f=f: math.exp(0.3 * f(x, z)) for n, f in logs.items()}}
    K = np.array([[pairs[kernel](x, z) for z in k.numpy()] for x in q.numpy()])
    found = attention_weights(q, k, kernel=kernel, scale=0.3)
    assert_allclose(found, K / K.sum(1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_the_default_is_the_attention_of_torch(causal):
    q, k, v = parts()
    assert_allclose(
        kernel_attention(q, k, v, is_causal=causal).detach(),
        F.scaled_dot_product_attention(q, k, v, is_causal=causal).detach(), rtol=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize("causal", [False, True])
def test_dot_product_attention_is_rbf_attention_with_weights_of_keys(causal, small_tiles):
    """exp(s <q, k>) = exp(s |q|² / 2) exp(s |k|² / 2) exp(-s |q - k|² / 2)."""
    q, k, v = parts()
    s = 0.7
    weights = s * k.square().sum(-1) / 2  # their logarithms
    found = kernel_attention(q, k, v, weights[..., None, :], 0.0, causal, kernel="rbf", scale=s / 2)
    wanted = kernel_attention(q, k, v, is_causal=causal, scale=s)
    assert_allclose(found.detach(), wanted.detach(), rtol=1e-11, atol=1e-13)
    g = torch.randn_like(found)
    for one, other in zip(*(torch.autograd.grad(out, (q, k, v), g) for out in (found, wanted))):
        assert_allclose(one, other, rtol=0, atol=1e-12)


def test_intersection_is_a_laplacian_with_weights_of_keys():
    q, k, v = (part.detach() for part in parts())
    weights = (k.sum(-1) / 2)[..., None, :]
    laplace = kernel_attention(q, k, v, weights, kernel=lambda q, k: -torch.cdist(q, k, p=1) / 2)
    assert_allclose(kernel_attention(q, k, v, kernel="intersection", scale=1.0), laplace)


@pytest.mark.parametrize("kernel", [*PAIRS, laplacian], ids=name_of)
def test_dropped_weights_are_dropped_in_both_passes(kernel, small_tiles):
    """Gradients are those of the same draws; the mean over draws is attention."""
    q, k, v = parts(6, 9, (1,))

    def dropped(*inputs):
        torch.manual_seed(3)
        return kernel_attention(*inputs, dropout_p=0.3, kernel=kernel)

    assert torch.autograd.gradcheck(dropped, (q, k, v))
    q, k, v = (part.detach() for part in (q, k, v))
    mean = sum(kernel_attention(q, k, v, dropout_p=0.3, kernel=kernel) for _ in range(100)) / 100
    assert_allclose(mean, kernel_attention(q, k, v, kernel=kernel), atol=0.6)
    assert not torch.equal(dropped(q, k, v), kernel_attention(q, k, v, kernel=kernel))


@pytest.mark.parametrize("kernel", [*PAIRS, *FEATURES])
@pytest.mark.parametrize(("dtype", "room"), [(torch.float32, 2e-5), (torch.bfloat16, 0.03)])
def test_precisions(kernel, dtype, room):
    """bfloat16 is as good as the rounding of its inputs and outputs."""
    exact = [part.detach().to(dtype).double().requires_grad_() for part in parts(60, 70)]
    rounded = [part.detach().to(dtype).requires_grad_() for part in exact]
    wanted, found = (kernel_attention(*inputs, kernel=kernel) for inputs in (exact, rounded))
    assert found.dtype == dtype
    assert_allclose(found.detach().double(), wanted.detach(), rtol=0, atol=room)
    g = torch.randn_like(found)
    gradients = torch.autograd.grad(wanted, exact, g.double())
    for one, other in zip(gradients, torch.autograd.grad(found, rounded, g)):
        assert_allclose(other.double(), one, rtol=room, atol=3 * room)


def test_sums_over_tiles_of_bfloat16_are_in_float32(small_tiles):
    """Dropout and masks beside ``causal`` lead to tiles, whose sums would lose their digits."""
    q, k, v = (part.detach().bfloat16() for part in parts(40, 40))
    mask = torch.rand(40, 40) > 0.3
    wanted = kernel_attention(q.double(), k.double(), v.double(), mask, is_causal=True)
    found = kernel_attention(q, k, v, mask, is_causal=True)
    assert found.dtype == torch.bfloat16
    assert_allclose(found.double(), wanted, rtol=0.004, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "distance"])
@pytest.mark.parametrize("offset", [10.0, 1000.0])
def test_a_common_shift_of_queries_and_keys_loses_no_digits(kernel, offset):
    q, k, v = (part.detach() for part in parts())
    q, k = ((part + offset).float() for part in (q, k))
    found = kernel_attention(q, k, v.float(), kernel=kernel)
    wanted = kernel_attention(q.double(), k.double(), v, kernel=kernel)
    assert_allclose(found, wanted, atol=5e-6)


def test_equal_tokens_have_distance_zero_and_finite_gradients():
    x = (100 + torch.randn(1, 12, 4)).requires_grad_()
    assert_allclose(attention_weights(x, x, kernel="distance").diagonal(0, 1, 2).detach(), 0)
    same = torch.ones(1, 6, 4, requires_grad=True)
    for inputs in (x, same):
        out = kernel_attention(inputs, inputs, inputs, kernel="distance")
        out.square().sum().backward()
        assert torch.isfinite(out).all()
        assert torch.isfinite(inputs.grad).all()


@pytest.mark.parametrize("kernel", [*PAIRS, *FEATURES])
def test_large_numbers_do_not_overflow(kernel):
    q, k, v = (part.detach() * 30 for part in parts(dtype=torch.float32))
    assert torch.isfinite(kernel_attention(q, k, v, kernel=kernel)).all()


@pytest.mark.parametrize("kernel", [*PAIRS, *FEATURES])
@pytest.mark.parametrize(("length", "count"), [(0, 3), (1, 1), (3, 0), (300, 5), (5, 300)])
@pytest.mark.parametrize("causal", [False, True])
def test_lengths(kernel, length, count, causal):
    q, k, v = (part.detach() for part in parts(length, count, (2,)))
    if count == 0:
        assert_allclose(kernel_attention(q, k, v, is_causal=causal, kernel=kernel), 0)
        return
    found = kernel_attention(q, k, v, is_causal=causal, kernel=kernel)
    assert_allclose(found, by_matrix(q, k, v, None, causal, kernel), atol=1e-11)


def test_axes_before_the_last_broadcast():
    q, k, v = (part.detach() for part in parts())
    found = kernel_attention(q, k[:, :1], v[:1], kernel="rbf")
    assert_allclose(found, by_matrix(q, k[:, :1].expand_as(k), v[:1], None, False, "rbf"))
    alone = kernel_attention(q[0, 0], k[0, 0], v[0, 0], kernel="rbf")
    assert_allclose(alone, kernel_attention(q, k, v, kernel="rbf")[0, 0], rtol=1e-10)


def test_heads_of_queries_share_heads_of_keys():
    q = torch.randn(2, 6, 5, 4)
    k, v = torch.randn(2, 2, 2, 7, 4).unbind()
    found = kernel_attention(q, k, v, kernel="quadratic", enable_gqa=True)
    k, v = (part.repeat_interleave(3, 1) for part in (k, v))
    assert_allclose(found, kernel_attention(q, k, v, kernel="quadratic"))


def test_masks_of_samples_are_not_repeated_for_their_heads():
    q, k, v = (part.detach() for part in parts(lead=(4, 3)))
    mask = torch.rand(4, 1, 17, 19) > 0.3
    of_heads = torch.rand(3, 17, 19) > 0.3
    for given in (mask, of_heads):
        found = kernel_attention(q, k, v, given, kernel="rbf")
        assert_allclose(found, by_matrix(q, k, v, given, False, "rbf"), atol=1e-12)


@pytest.mark.parametrize("kernel", FEATURES)
def test_causal_sums_by_chunks(kernel):
    q, k, v = (part.detach() for part in parts(300, 290, (2,)))
    found = kernel_attention(q, k, v, is_causal=True, kernel=kernel)
    assert_allclose(found, by_matrix(q, k, v, None, True, kernel), atol=1e-11)


def test_many_positive_features_tend_to_the_dot_product():
    q, k, v = (part.detach() / 2 for part in parts())
    wanted = kernel_attention(q, k, v)
    errors = [
        float((kernel_attention(q, k, v, kernel=PositiveFeatures(m)) - wanted).abs().max())
        for m in (16, 65536)
    ]
    assert errors[1] < 0.02 < errors[0]


# --- functions of the user's ---------------------------------------------------------------------


class Bilinear(torch.nn.Module):
    """A similarity that is learnt."""

    def __init__(self):
        super().__init__()
        self.matrix = torch.nn.Parameter(torch.randn(4, 4, dtype=torch.float64))

    def forward(self, q, k):
        return torch.sin(q @ self.matrix @ k.mT)


def test_parameters_of_a_function_are_learnt(small_tiles):
    module = Bilinear()
    q, k, v = parts()
    inputs = (q, k, v, module.matrix)
    found = torch.autograd.grad(kernel_attention(q, k, v, kernel=module).square().sum(), inputs)
    whole = by_matrix(q, k, v, None, False, module)
    for one, other in zip(found, torch.autograd.grad(whole.square().sum(), inputs)):
        assert_allclose(one, other, atol=1e-11)


def test_a_function_may_ignore_its_arguments_and_return_what_it_keeps():
    q, k, v = parts(3, 4, (1,))
    kept = torch.zeros(1, 1, 1, dtype=torch.float64)
    found = kernel_attention(q, k, v, kernel=lambda q, k: kept.expand(1, q.shape[1], k.shape[1]))
    assert_allclose(found.detach(), v.mean(1, keepdim=True).expand(1, 3, 5).detach())
    found.sum().backward()
    assert_allclose(q.grad, 0)
    assert kept.item() == 0


def test_what_a_function_would_not_learn_is_refused():
    q, k, v = parts()
    factor = torch.ones((), dtype=torch.float64, requires_grad=True)
    with pytest.raises(ValueError, match=r"requires_grad=True.*Give a torch.nn.Module"):
        kernel_attention(q, k, v, kernel=lambda q, k: (2 * factor) * (q @ k.mT))
    with pytest.raises(ValueError, match="requires_grad=True"):
        kernel_attention(q, k, v, kernel=lambda q, k: factor.expand(1, q.shape[1], k.shape[1]))


@pytest.mark.parametrize("wrong", [lambda q, k: q, lambda q, k: 1.0, lambda q, k: (q @ k.mT).sum()])
def test_functions_of_another_shape_are_refused(wrong):
    with pytest.raises(ValueError, match=r"return a tensor of shape \(1, 1, 2\)"):
        kernel_attention(*parts(), kernel=wrong)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "laplace"}, "kernel='laplace': give one of 'dot_product'"),
        ({"kernel": None}, "kernel=None"),
        ({"scale": 0}, "scale=0: give a finite number > 0"),
        ({"scale": math.nan}, "scale=nan"),
        ({"scale": 1.0, "kernel": "linear"}, "has no scale"),
        ({"scale": 1.0, "kernel": laplacian}, "has no scale"),
        ({"dropout_p": 1}, "dropout_p=1"),
        ({"dropout_p": -0.1}, "dropout_p=-0.1"),
        ({"dropout_p": 0.1, "kernel": "linear"}, "no matrix of weights that could be dropped"),
        ({"attn_mask": torch.ones(17, 19) > 0, "kernel": "linear"}, "give a mask of keys"),
        ({"attn_mask": torch.ones(2, 19) > 0}, r"attn_mask has shape \(2, 19\)"),
        ({"attn_mask": torch.ones(7, 1, 1, 1, 19) > 0}, "does not broadcast"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        kernel_attention(*parts(), **options)


def test_shapes_and_precisions_are_compared():
    q, k, v = parts()
    with pytest.raises(ValueError, match="as many columns"):
        kernel_attention(q[..., :3], k, v)
    with pytest.raises(ValueError, match="a value for each key"):
        kernel_attention(q, k, v[..., :5, :])
    with pytest.raises(ValueError, match=r"give \(..., l, d\)"):
        kernel_attention(q[0, 0, 0], k, v)
    with pytest.raises(ValueError, match="that are equal or 1"):
        kernel_attention(q, k[:, :2], v)
    with pytest.raises(ValueError, match="a number of heads that divides that of the queries"):
        kernel_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    with pytest.raises(TypeError, match="one floating precision"):
        kernel_attention(q.float(), k, v)
    with pytest.raises(TypeError, match="one floating precision"):
        kernel_attention(*(part.long() for part in (q, k, v)))


# --- the layer -----------------------------------------------------------------------------------


def test_a_layer_of_dot_products_is_that_of_torch():
    ours = KernelAttention(12, 3, bias=True)
    theirs = torch.nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        for name in ("weight", "bias"):
            joined = [getattr(part, name) for part in (ours.query, ours.key, ours.value)]
            getattr(theirs, f"in_proj_{name}").copy_(torch.cat(joined))
            getattr(theirs.out_proj, name).copy_(getattr(ours.output, name))
    x = torch.randn(2, 7, 12)
    out, weights = theirs(x, x, x, average_attn_weights=False)
    assert_allclose(ours(x).detach(), out.detach(), atol=1e-6)
    assert_allclose(ours.weights(x), weights.detach(), atol=1e-6)


@pytest.mark.parametrize("kernel", [*NAMED, laplacian], ids=name_of)
def test_layers_learn(kernel):
    """The last token of five tells the class of the first."""
    layer = KernelAttention(8, 2, kernel=kernel, dropout=0.0)
    head = torch.nn.Linear(8, 2)
    x = torch.randn(64, 5, 8)
    y = (x[:, -1, 0] > 0).long()
    adam = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.03)
    losses = []
    for _ in range(40):
        adam.zero_grad()
        loss = F.cross_entropy(head((x + layer(x))[:, 0]), y)
        loss.backward()
        adam.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_a_layer_has_the_parameters_of_its_function():
    module = Bilinear()
    layer = KernelAttention(8, 2, kernel=module, dtype=torch.float64)
    assert any(p is module.matrix for p in layer.parameters())
    layer(torch.randn(1, 3, 8, dtype=torch.float64)).sum().backward()
    assert module.matrix.grad.abs().max() > 0


def test_keys_and_values_may_have_other_columns():
    layer = KernelAttention(8, 2, "quadratic", kdim=3, vdim=5)
    query, key, value = torch.randn(2, 6, 8), torch.randn(2, 9, 3), torch.randn(2, 9, 5)
    assert layer(query, key, value).shape == (2, 6, 8)
    assert layer.weights(query, key).shape == (2, 2, 6, 9)
    there = torch.tensor([4, 9])[:, None, None, None] > torch.arange(9)
    out = layer(query, key, value, attn_mask=there)
    short = layer(query[:1], key[:1, :4], value[:1, :4])
    assert_allclose(out[:1].detach(), short.detach(), atol=1e-6)


def test_weights_are_dropped_in_training_alone():
    layer = KernelAttention(8, 2, "rbf", dropout=0.5)
    x = torch.randn(1, 6, 8)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((8, 3), "embed_dim=8, num_heads=3"), ((8, 0), "num_heads=0"), ((8, 2, "kernel"), "kernel=")],
)
def test_layers_that_cannot_be_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        KernelAttention(*arguments)


def test_dropout_of_a_layer():
    with pytest.raises(ValueError, match="dropout=1"):
        KernelAttention(8, dropout=1)
    with pytest.raises(ValueError, match="makes no matrix"):
        KernelAttention(8, kernel="linear", dropout=0.1)


@pytest.mark.parametrize("kernel", PAIRS)
def test_a_head_is_a_kernel_of_the_library(kernel):
    """Its Gram operator attends: K V over the sums of the rows of K."""
    layer = KernelAttention(6, 2, kernel, scale=0.4, dtype=torch.float64)
    X, Z = np.random.default_rng(0).normal(size=(2, 9, 6))
    weights = layer.weights(torch.from_numpy(Z), torch.from_numpy(X))[1].numpy()
    of_head = layer.query_key(head=1)
    K = gram(of_head, of_head.encode(Z), of_head.encode(X))
    V = np.column_stack([X[:, 0] * X[:, 1], np.ones(9)])
    sums = K @ V
    assert_allclose(sums[:, 0] / sums[:, 1], weights @ V[:, 0], rtol=1e-9)
    assert_allclose(K.dense() / sums[:, 1:], weights, rtol=1e-9)


def test_heads_that_are_no_kernel_of_the_library():
    with pytest.raises(ValueError, match="form='linear'"):
        KernelAttention(6, 2, "linear").query_key()
    with pytest.raises(ValueError, match="bias=True"):
        KernelAttention(6, 2, bias=True).query_key()
    with pytest.raises(ValueError, match="head=2"):
        KernelAttention(6, 2).query_key(2)
