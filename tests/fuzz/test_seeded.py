"""The entries of the fuzzers on random inputs of a seed, a few in every run of the tests."""

import base64
import random

import pytest

import mercer
import mercer.distances as d
import mercer.kernels as k
from fuzz import (
    fuzz_archives,
    fuzz_columns,
    fuzz_documents,
    fuzz_fields,
    fuzz_hashes,
    fuzz_json,
    fuzz_linear_svm,
    fuzz_model_files,
    fuzz_smo,
    fuzz_sparse,
    fuzz_tables,
)
from fuzz.driver import Source, random_input
from fuzz.fuzz_strings import one_input, set_comparisons, string_comparisons
from mercer import _native
from mercer.search import Index


@pytest.fixture(autouse=True)
def isa():
    before = _native.isa()
    yield
    _native.use_isa(before)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_random_inputs(seed):
    rng = random.Random(seed)
    done = [one_input(random_input(rng)) for _ in range(150)]
    assert done.count("refused") < len(done) / 2


@pytest.mark.full
@pytest.mark.parametrize("loops", [fuzz_smo, fuzz_linear_svm], ids=["smo", "linear"])
@pytest.mark.parametrize("seed", range(2))
def test_random_problems(loops, seed):
    rng = random.Random(seed)
    ends = [loops.one_input(random_input(rng)) for _ in range(400)]
    meant = {
        fuzz_smo: {"solved", "without bounds", "hostile", "operations", "refused"},
        fuzz_linear_svm: {"products", "dual", "classes", "lasso", "box", "hostile", "refused"},
    }[loops]
    assert meant <= {*ends}


def test_random_hashes():
    rng = random.Random(0)
    done = {fuzz_hashes.one_input(random_input(rng)) for _ in range(150)}
    assert done == {"numbers", "signatures", "permuted", "refused", "tables", "damaged"}


@pytest.mark.parametrize(
    ("inputs", "ends"),
    [
        (fuzz_json, {"read", "too deep", "refused"}),
        (fuzz_archives, {"whole", "refused", "none"}),
        (fuzz_sparse, {"right", "refused"}),
    ],
)
def test_random_texts_archives_and_matrices(inputs, ends):
    rng = random.Random(0)
    assert ends <= {inputs.one_input(random_input(rng)) for _ in range(300)}


def test_random_columns():
    rng = random.Random(0)
    ends = [fuzz_columns.one_input(random_input(rng)) for _ in range(900)]
    assert {*ends} >= {"equal", "said", "refused", "texts"}
    assert ends.count("equal") > len(ends) / 2


@pytest.mark.full
def test_random_fields():
    rng = random.Random(0)
    done = [fuzz_fields.one_input(random_input(rng)) for _ in range(150)]
    assert done.count("refused") > len(done) / 5


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2))
def test_random_files(seed):
    rng = random.Random(seed)
    done = [fuzz_model_files.one_input(random_input(rng)) for _ in range(150)]
    refused = done.count("refused refused")
    assert 0.5 * len(done) < refused < len(done)


def test_the_files_that_the_fuzzer_alters_are_whole(tmp_path):
    path = tmp_path / "file"
    for content in fuzz_model_files.whole_files():
        path.write_bytes(content)
        found = [fuzz_model_files.outcome(read, path) for read in (mercer.load, Index.load)]
        assert found.count("refused") == 1


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2))
def test_random_tables(seed):
    rng = random.Random(seed)
    done = [fuzz_tables.one_input(fuzz_tables.random_input(rng)) for _ in range(150)]
    assert done.count("read") > len(done) / 20


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2))
def test_random_documents(seed):
    rng = random.Random(seed)
    done = [fuzz_documents.one_input(fuzz_documents.random_input(rng)) for _ in range(100)]
    assert {"read", "refused", "index"} == {*done}
    assert done.count("read") > len(done) / 20


@pytest.mark.parametrize(
    "found",
    [
        # an error of the thread that reads is no Exception of Python
        "Nl49AAAAAAAAAAAA+QAAAMcAYQAAAAA=",
        # a page with a negative number of values, for which polars asks for 2^61 bytes
        "FqsZAIAAAFkdAAAAAADFAABUAAAAAAA=",
    ],
)
def test_damaged_parquet_files_at_which_polars_panics_or_aborts(found):
    assert fuzz_documents.one_input(base64.b64decode(found)) == "refused"


def test_every_comparison_of_strings_and_sets_is_fuzzed():
    source = Source(b"")
    made = {type(make()) for make in [*string_comparisons(source), *set_comparisons(source)]}
    public = {getattr(package, name) for package in (k, d) for name in package.__all__}
    kinds = {"strings", "sets"}
    assert {c for c in public if isinstance(c, type) and kind_of(c) in kinds} <= made


def kind_of(public):
    """What a class compares; a kernel of a distance, what a default one does."""
    try:
        return getattr(public(), "kind", None)  # an error has none
    except TypeError:
        return None  # an operator of the algebra, or abstract
