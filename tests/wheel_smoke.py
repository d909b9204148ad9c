"""What an installed wheel must do by itself: `make wheel` runs this file in an environment that
holds nothing else, and cibuildwheel on every platform. It is no test of pytest's:

    python -I tests/wheel_smoke.py
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import numpy as np

OPTIONAL = ("matplotlib", "torch", "polars", "rich", "cyclopts", "rdkit", "onnx")
FILES = ("py.typed", "data/penguins.csv", "plots/report/templates/report.html")


def check_what_is_installed() -> str:
    import mercer

    wheel = distribution("mercer")
    assert Path(mercer.__file__).is_relative_to(sysconfig.get_path("platlib")), mercer.__file__
    assert wheel.version == mercer.__version__, (wheel.version, mercer.__version__)
    wanted = "cp311-cp311" if sys.version_info < (3, 12) else "cp312-abi3"
    lines = (wheel.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")]
    assert tags, lines
    assert all(tag.startswith(wanted) for tag in tags), (tags, wanted)
    for name in FILES:
        assert files("mercer").joinpath(name).is_file(), f"the wheel lacks {name}"
    return tags[0]


def check_imports() -> None:
    """All that is public is there in a plain installation, which has no pytest."""
    import mercer

    assert importlib.util.find_spec("pytest") is None, "this is not a plain installation"
    found: dict = {}
    exec("from mercer import *", found)
    assert set(mercer.__all__) <= set(found), set(mercer.__all__) - set(found)
    rooms = [name for name in mercer.__all__ if isinstance(found[name], ModuleType)]
    assert "kernels" in rooms
    for room in rooms:
        for name in found[room].__all__:
            try:
                getattr(found[room], name)
            except ImportError as error:
                if "pip install" not in str(error):  # of what an extra brings
                    raise


def check_models() -> None:
    import mercer
    from mercer.kernels import RBF, Spectrum

    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] * X[:, 1] > 0
    classifier = mercer.SVC(kernel=RBF("scale"), C=10.0).fit(X, y)
    assert classifier.score(X, y) > 0.9

    target = np.sin(X[:, 0])
    ridge = mercer.KernelRidge(kernel="rbf", alpha=1e-3).fit(X, target)
    assert ridge.score(X, target) > 0.9
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        mercer.save(ridge, path)
        loaded = mercer.load(path)
    np.testing.assert_allclose(loaded.predict(X), ridge.predict(X), rtol=1e-10, atol=1e-10)

    texts = ["banana", "bananas", "ananas", "cherry", "cherries", "cheery"]
    fruits = mercer.SVC(kernel=Spectrum(2).normalised()).fit(texts, [0, 0, 0, 1, 1, 1])
    assert list(fruits.predict(["bananan", "cherr"])) == [0, 1]


def check_instruction_sets() -> list[str]:
    """The same Gram matrices, whichever loops of this processor compute them."""
    from mercer import _native, kernels as k

    X = np.random.default_rng(1).normal(size=(37, 9))
    texts = ["".join("ACGT"[v] for v in row) for row in (X > 0) * 2 + (np.abs(X) > 1)]
    cases = [
        (k.RBF(2.0), X),
        (k.Laplacian(2.0), X),
        (k.Matern(2.0), X),
        (k.ANOVA(3), X),
        (k.RBF(2.0), X.astype(np.float32)),
        (k.Jaccard(), [set(text) for text in texts]),
        (k.GappedKmer(4, 3), texts),
        (k.WeightedDegree(3), texts),
        (k.GapWeighted(3), texts),
        (k.AllSubsequences(), texts),
    ]
    names = _native.available_isas()
    chosen = _native.isa()
    assert names[0] == "portable", names
    try:
        grams = {}
        for name in names:
            assert _native.use_isa(name), name
            grams[name] = [kernel(data) for kernel, data in cases]
    finally:
        _native.use_isa(chosen)
    for name in names:
        for (kernel, data), K, reference in zip(cases, grams[name], grams["portable"]):
            rtol = 1e-5 if getattr(data, "dtype", None) == np.float32 else 1e-11
            np.testing.assert_allclose(K, reference, rtol=rtol, err_msg=f"{name}: {kernel!r}")
    return names


def check_the_command() -> None:
    """Without its extra, the command says what to install."""
    command = shutil.which("mercer", path=sysconfig.get_path("scripts"))
    assert command is not None, "the wheel has no command"
    done = subprocess.run([command, "--help"], capture_output=True, text=True)
    assert done.returncode == 5, (done.returncode, done.stdout, done.stderr)
    assert 'pip install "mercer[cli]"' in done.stderr, done.stderr


def main() -> None:
    tag = check_what_is_installed()
    check_models()
    names = check_instruction_sets()
    loaded = [name for name in OPTIONAL if name in sys.modules]
    assert not loaded, f"loaded without need: {loaded}"
    check_imports()
    check_the_command()
    print(f"The wheel {tag} works on Python {sys.version.split()[0]} with {', '.join(names)}.")


if __name__ == "__main__":
    main()
