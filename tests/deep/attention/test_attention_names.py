"""What is said where torch is not installed, and what needs no torch."""

import subprocess
import sys

import pytest

from mercer.deep import AttentionClassifier
from mercer.deep.attention.tokens import known_tokens, read_tokens, token_codes

LINE = r'needs torch, which is not installed: pip install "mercer\[torch\]"\.$'


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    model = AttentionClassifier()
    with pytest.raises(ImportError, match=f"^AttentionClassifier {LINE}"):
        model.fit(["a", "b"] * 4, [0, 1] * 4)
    assert not hasattr(model, "classes_")


def test_without_torch_the_names_of_the_layer_say_what_to_install():
    """In a process of its own, in which no module has them yet."""
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import mercer.deep\n"
        "for name in ('KernelAttention', 'kernel_attention', 'FunctionKernel', 'attention_weights',"
        " 'PositiveFeatures'):\n"
        "    try:\n"
        "        getattr(mercer.deep, name)\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    wanted = 'needs torch, which is not installed: pip install "mercer[torch]".'
    assert lines[0] == f"mercer.deep.KernelAttention {wanted}"


def test_how_texts_become_tokens():
    rows, form = read_tokens(["It's HERE, é!", ""], "words")
    assert form == "text"
    assert rows == [["it", "'", "s", "here", ",", "é", "!"], []]
    assert read_tokens(["Ab"], "characters")[0] == [["A", "b"]]
    assert read_tokens([b"ab"], "words") == ([[97, 98]], "bytes")
    assert read_tokens([["A", 1], []], "words") == ([["A", 1], []], "tokens")
    known = known_tokens([["b", "a"], ["a", "c"], ["b", "a"]], 2)
    assert known == ["a", "b"]
    assert [codes.tolist() for codes in token_codes([["c", "b", "a"], []], known)] == [
        [0, 2, 1],
        [],
    ]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("scale", [0, -1, "a"]), ("width", [0, 2.5, 63]), ("n_heads", [0, None]),
        ("n_layers", [0]), ("dropout", [1, -0.1, None]), ("causal", [3, "a"]),
        ("tokens", ["lines", None]), ("min_count", [0]), ("max_length", [0]), ("epochs", [0]),
        ("batch_size", [0]), ("learning_rate", [0, None]), ("weight_decay", [-1, None]),
        ("random_state", [-1, "a"]), ("verbose", ["a", None]),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(name, values):
    for value in values:
        with pytest.raises((TypeError, ValueError), match=name):
            AttentionClassifier(**{name: value}).fit(["a", "b"] * 4, [0, 1] * 4)
