"""What takes tensors gets a table of hostile ones: an answer that is right, or Mercer's words."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hostile.verdict import wrong  # noqa: E402
from mercer import deep  # noqa: E402
from mercer.kernels import RBF, Linear  # noqa: E402

GOOD = torch.linspace(-1, 1, 32).reshape(8, 4)
NAN = GOOD.clone()
NAN[3, 1] = torch.nan
TENSORS = {
    "good": lambda: GOOD,
    "that requires a gradient": lambda: GOOD.clone().requires_grad_(),
    "bfloat16": GOOD.bfloat16,
    "float16": GOOD.half,
    "float64": GOOD.double,
    "whole": GOOD.int,
    "boolean": GOOD.bool,
    "complex": lambda: GOOD.to(torch.complex64),
    "no rows": lambda: GOOD[:0],
    "one row": lambda: GOOD[:1],
    "no columns": lambda: GOOD[:, :0],
    "a row alone": lambda: GOOD[0],
    "a number": lambda: GOOD[0, 0],
    "too wide": lambda: torch.ones(8, 5),
    "too narrow": lambda: torch.ones(8, 3),
    "not contiguous": lambda: GOOD.T.contiguous().T,
    "a view of steps": lambda: torch.cat([GOOD, GOOD])[::2],
    "NaN": lambda: NAN,
    "infinite": lambda: GOOD / 0,
    "huge": lambda: GOOD * 1e38,
    "tiny": lambda: GOOD * 1e-38,
    "on the meta device": lambda: torch.ones(8, 4, device="meta"),
    "sparse": lambda: GOOD.relu().to_sparse(),
    "an array": GOOD.numpy,
    "a list": GOOD.tolist,
    "None": lambda: None,
}
WITHOUT_NUMBERS = ("NaN", "infinite", "huge")  # an answer need not have any
LAYERS = {
    "FourierFeatures": lambda: deep.FourierFeatures(4, n_features=3, random_state=0),
    "ArcCosineFeatures": lambda: deep.ArcCosineFeatures(4, n_features=3, random_state=0),
    "NystroemFeatures": lambda: deep.NystroemFeatures(RBF(0.5), GOOD.numpy(), 3, random_state=0),
    "PooledScales": lambda: deep.PooledScales(
        deep.FourierFeatures(4, n_features=3, random_state=0), (1, 2), "average"),
    "NeuralKernelBlock": lambda: deep.NeuralKernelBlock(4, 5, n_features=3, random_state=0),
    "NeuralKernelNetwork": lambda: deep.NeuralKernelNetwork(
        4, 2, width=5, n_features=3, random_state=0),
    "KernelAttention": lambda: deep.KernelAttention(4, 2, "rbf"),
}  # fmt: skip
NAMED = ("dot_product", "rbf", "distance", "quadratic", "intersection", "linear",
         "random_features")  # fmt: skip
CALLS = {
    **LAYERS,
    "NystroemFeatures, centres": lambda: lambda x: deep.NystroemFeatures(
        Linear(), x, 3, random_state=0)(GOOD),
    "begin of a network": lambda: lambda x: [
        network := LAYERS["NeuralKernelNetwork"](), network.begin(x), network(GOOD)][-1],
    "weights of KernelAttention": lambda: LAYERS["KernelAttention"]().weights,
    **{f"kernel_attention by {kernel}": lambda kernel=kernel: lambda x: deep.kernel_attention(
        x, x, x, kernel=kernel) for kernel in NAMED},
    **{f"attention_weights by {kernel}": lambda kernel=kernel: lambda x: deep.attention_weights(
        x, x, kernel=kernel) for kernel in NAMED},
    "keys of another kind": lambda: lambda x: deep.kernel_attention(GOOD, x, x, kernel="rbf"),
    "FunctionKernel": lambda: lambda x: deep.kernel_attention(
        x, x, x, kernel=deep.FunctionKernel(lambda q, k: q @ k.mT)),
    "PositiveFeatures": lambda: lambda x: deep.kernel_attention(
        x, x, x, kernel=deep.PositiveFeatures(8)),
}  # fmt: skip


def numbers(answer):
    """An answer as an array, if it has numbers."""
    if answer.device.type == "meta":
        return np.zeros(0)
    return answer.detach().to_dense().double().numpy()


@pytest.mark.parametrize("call", CALLS)
def test_hostile_tensors(call):
    found = {}
    for name, make in TENSORS.items():
        given, asked = make(), CALLS[call]()
        said = wrong(lambda asked=asked, given=given: numbers(asked(given)))
        if said and not ("in an answer" in said and name in WITHOUT_NUMBERS):
            found[name] = said
    assert found == {}


@pytest.mark.parametrize("layer", LAYERS)
def test_no_rows_have_features_of_the_right_width(layer):
    made = LAYERS[layer]()
    assert made(GOOD[:0]).shape == (0, made(GOOD).shape[1])
    whole = made(GOOD).detach()
    assert torch.allclose(made(GOOD.T.contiguous().T).detach(), whole, atol=1e-6)
    if layer != "KernelAttention":  # rows are for themselves
        assert torch.allclose(made(GOOD[:1]).detach(), whole[:1], atol=1e-6)


def test_nystroem_features_read_tensors_that_learn_and_of_half_precision():
    layer = LAYERS["NystroemFeatures"]()
    whole = layer(GOOD)
    assert torch.equal(layer(GOOD.clone().requires_grad_()), whole)
    assert torch.allclose(layer(GOOD.bfloat16()), layer(GOOD.bfloat16().float()))
    assert layer(GOOD[:0]).dtype == whole.dtype


def test_autocast_mixes_precisions():
    with torch.autocast("cpu", torch.bfloat16):
        for layer in ("FourierFeatures", "NeuralKernelNetwork", "KernelAttention"):
            assert torch.isfinite(LAYERS[layer]()(GOOD.bfloat16())).all()
