"""What a made-up file may not do: grow, repeat itself, nest without end, claim what is not so."""

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.persistence import ModelFileError, load, save

X = np.random.default_rng(0).normal(size=(20, 3))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


def rewritten(path, change, compression=zipfile.ZIP_STORED):
    """The archive with its members changed, by name; what is named schema.json is JSON."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    members["schema.json"] = schema
    change(members)
    if members.get("schema.json") is schema:
        members["schema.json"] = json.dumps(schema)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as refusal:
        load(path)
    assert str(refusal.value).isprintable()
    assert str(path) in str(refusal.value)


# --- sizes ---------------------------------------------------------------------------------------


@pytest.mark.spread(1)
@pytest.mark.parametrize(
    "zeros",
    [np.zeros((100, 131_072)), sp.csr_array(np.ones((2000, 1000))), sp.csr_array((10**6, 5))],
    ids=["104 MB of zeros", "a sparse matrix of ones", "a sparse matrix of zeros"],
)
def test_no_honest_file_is_refused_however_well_it_could_be_compressed(zeros, path):
    save({"zeros": zeros}, path)
    loaded = load(path)["zeros"]
    assert loaded.shape == zeros.shape
    assert (loaded != zeros).sum() == 0
    size = zeros.nbytes if isinstance(zeros, np.ndarray) else zeros.data.nbytes
    assert path.stat().st_size >= size
    with zipfile.ZipFile(path) as archive:
        sparse = [n for n in archive.namelist() if n.endswith(".npz")]
        for inner in (archive, *(zipfile.ZipFile(io.BytesIO(archive.read(n))) for n in sparse)):
            assert {m.compress_type for m in inner.infolist()} == {zipfile.ZIP_STORED}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members_are_refused_unread(method, path, monkeypatch):
    save({"zeros": np.zeros(10**6)}, path)
    rewritten(path, lambda members: None, method)
    monkeypatch.setattr(zipfile.ZipFile, "read", None)  # nothing is unpacked
    monkeypatch.setattr(zipfile.ZipFile, "open", None)
    refused(path, "is compressed, which Mercer's files never are")


def test_compressed_members_of_a_sparse_matrix_are_refused(path):
    save(sp.csr_array(np.ones((20, 3))), path)

    def compress(members):
        name = next(n for n in members if n.endswith(".npz"))
        file = io.BytesIO()
        sp.save_npz(file, sp.csr_array(np.ones((2000, 1000))))
        members[name] = file.getvalue()

    rewritten(path, compress)
    refused(path, r"\.npz' holds 'indices\.npy' is compressed")


def test_encrypted_members_are_refused(path):
    save({"zeros": np.zeros(9)}, path)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flags of the first entry of the contents
    path.write_bytes(content)
    refused(path, "is encrypted, which Mercer's files never are")


def test_what_loading_takes_is_bounded_by_the_file(path):
    """Less than 5 times the arrays, and less than 100 times the text, as SECURITY.md says."""
    for model, times in (
        ({"rows": np.ones((200, 500))}, 5),
        ({"words": [{"a": i, "b": [str(i), None, (i, 0.5)]} for i in range(60)]}, 100),
    ):
        save(model, path)
        load(path)  # what is imported once is no part of it
        tracemalloc.start()
        load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < times * path.stat().st_size


def test_members_that_lie_on_each_other(path):
    """1000 names of one member of a megabyte, as a list of contents may have them."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("0.npy", bytes(2**20))
        first = archive.getinfo("0.npy")
        for number in range(1, 1000):
            again = zipfile.ZipInfo(f"{number}.npy")
            for name in ("header_offset", "CRC", "compress_size", "file_size"):
                setattr(again, name, getattr(first, name))
            archive.filelist.append(again)
    refused(path, r"its members take 1,0\d\d,\d{3},\d{3} bytes, but it has 1,")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice(path):
    save(mercer.KernelRidge().fit(X, X[:, 0]), path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("schema.json", b"{}")
    refused(path, "'schema.json' is there twice")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"[" * 20_000, "not a Mercer model"),
        (b" " * 100_000 + b'{"format": 1}', "gives no format"),
        (b'{"format": true}', "gives no format"),
        (b'{"format": 0}', "gives no format"),
        (b'{"format": 1.0}', "gives no format"),
        (b'{"format": 99, "mercer": "\\u001b[2J"}', r"by mercer \(unreadable\) in format 99"),
        (b'{"format": 99, "mercer": [1]}', r"by mercer \[1\] in format 99"),
        (b'{"format": 1' + b"0" * 5000 + b"}", "not a Mercer model"),
        (b"\xff", "not a Mercer model"),
    ],
)
def test_headers_that_were_made_up(header, message, path):
    save([1], path)
    rewritten(path, lambda members: members.update({"mercer.json": header}))
    refused(path, message)


# --- arrays --------------------------------------------------------------------------------------


def described(dtype="<f8", shape=(20,), content=bytes(160), version=1, fortran=False):
    head = repr({"descr": dtype, "fortran_order": fortran, "shape": shape}).encode()
    size = struct.pack("<H" if version == 1 else "<I", len(head))
    return b"\x93NUMPY" + bytes([version, 0]) + size + head + content


def replace_array(path, content):
    """Save an array, and put ``content`` in its place."""
    save({"x": np.zeros(20)}, path)

    def replace(members):
        members[next(n for n in members if n.endswith(".npy"))] = content

    rewritten(path, replace)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    ("dtype", "shape", "content"),
    [
        ("<f8", (20,), bytes(160)),
        (">f4", (5, 8), bytes(160)),
        ([("a", "<f8"), ("b", "<i4")], (), bytes(12)),
        ("<f8", (0, 7), b""),
        ("|V0", (3,), b""),
    ],
)
def test_headers_that_agree_with_the_numbers(version, dtype, shape, content, path):
    replace_array(path, described(dtype, shape, content, version))
    assert load(path)["x"].shape == shape


@pytest.mark.parametrize(
    "content",
    [
        described(shape=(2**40,)),
        described(shape=(2**62, 2)),
        described(shape=(2**70,)),
        described(shape=(-20,)),
        described(shape=(-1, -20)),
        described(shape=(1, -4, -5)),
        described(shape=(19,)),
        described(shape=(21,)),
        described(shape=("a",)),
        described(shape=None),
        described("|O"),
        described([("a", "|O")]),
        described("<f9"),
        described(version=4),
        described(content=b""),
        b"\x93NUMPY\1\0\x28\x23" + b"-" * 8999 + b"1",
        b"\x93NUMPY\1\0\x28\x23" + b"(" * 9000,
        b"\x93NUMPY\1\0",
        b"PK\5\6" + bytes(18),  # numpy would read an archive
        b"",
        b"\x80\4N.",  # or a pickle
    ],
)
def test_headers_that_do_not(content, path):
    replace_array(path, content)
    refused(path, r"\.npy' holds|format version")


@pytest.mark.parametrize("scalar", ["void", "bytes_"])
def test_scalars_that_numpy_would_make_as_long_as_a_number_says(scalar, path):
    save({"x": np.float64(1)}, path)

    def change(members):
        members["schema.json"]["content"]["x"]["__class__"] = scalar
        name = next(n for n in members if n.endswith(".npy"))
        members[name] = described("<i8", (), struct.pack("<q", 10**15))

    rewritten(path, change)
    refused(path, f"holds int64, not {scalar}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": [0, 5]}, "indices must be <"),
        ({"indices": [0, -1]}, "indices must be >="),
        ({"indptr": [0, 2]}, "index pointer size"),
        ({"indptr": [0, 2, 9, 2]}, "sequence|overlap"),
        ({"indptr": [0, 9, 9, 0]}, "overlap"),
        ({"indptr": [0, 1, 2, 3]}, "Last value"),
        ({"data": [1.0]}, "same size"),
        ({"shape": [3, 10**30]}, ""),
        ({"format": [b"bad"]}, ""),
        ({"other": [1]}, "has no 'other.npy'"),
    ],
)
def test_sparse_matrices_with_indices_outside(change, message, path):
    save(sp.csr_array(np.eye(3)[:, :2]), path)
    whole = {"format": b"csr", "shape": [3, 2], "data": [1.0, 1.0], "indices": [0, 1],
             "indptr": [0, 1, 2, 2], "_is_array": True}  # fmt: skip

    def put(members):
        file = io.BytesIO()
        arrays = {name: np.asarray(value) for name, value in (whole | change).items()}
        arrays = {name: a.astype(str) if a.dtype == object else a for name, a in arrays.items()}
        np.savez(file, **arrays)
        members[next(n for n in members if n.endswith(".npz"))] = file.getvalue()

    rewritten(path, put)
    refused(path, rf"\.npz' holds.*({message})")


# --- the description -----------------------------------------------------------------------------


def test_objects_that_are_the_same_one_are_loaded_as_one(path):
    array, kernel = np.arange(5.0), mercer.kernels.RBF(0.5)
    sparse = sp.csr_array(np.eye(3))
    save([array, kernel, array, {"again": [kernel, sparse, array]}, sparse, kernel], path)
    loaded = load(path)
    assert loaded[0] is loaded[2] is loaded[3]["again"][2]
    assert loaded[1] is loaded[5] is loaded[3]["again"][0]
    assert loaded[4] is loaded[3]["again"][1]


def node(content, number):
    return {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
            "content": content, "__id__": number}  # fmt: skip


def test_a_description_that_stands_for_more_than_is_written(path):
    """60 lists, each of which holds the next one twice: 2**60 steps for who walks through them."""
    save([1], path)

    def change(members):
        inner = node([], 1)
        for number in range(2, 62):
            inner = node([inner, {"__id__": number - 1}], number)
        members["schema.json"]["content"] = [inner]

    rewritten(path, change)
    refused(path, "different objects have the same number 1")


def test_an_object_that_holds_itself(path):
    save([1], path)
    rewritten(path, lambda m: m["schema.json"].update(content=[node([node([], 7)], 7)]))
    refused(path, "different objects have the same number 7")


def test_a_member_that_is_read_many_times(path):
    save([np.zeros(100)], path)

    def change(members):
        array = members["schema.json"]["content"][0]
        members["schema.json"]["content"] = [array | {"__id__": i} for i in range(1000)]

    rewritten(path, change)
    refused(path, "belongs to several objects")


@pytest.mark.parametrize("name", ["schema.json", "mercer.json", "absent.npy"])
def test_a_member_that_is_something_else(name, path):
    save([np.zeros(100)], path)
    rewritten(path, lambda m: m["schema.json"]["content"][0].update(file=name))
    refused(path, rf"{name}' (is no \.npy file|holds KeyError)")


def test_an_array_of_objects_that_would_unpack_an_array(path):
    table = np.array([["a", None], [1, np.float64(2)]], dtype=object)
    save([table, np.zeros(100)], path)
    assert load(path)[0].tolist() == table.tolist()

    def change(members):
        first, array = members["schema.json"]["content"]
        first["content"] = [array] * 1000

    rewritten(path, change)
    refused(path, "an array of Python objects with several axes holds arrays")


def test_a_generator_whose_seed_takes_for_ever_to_mix(path):
    generator = np.random.default_rng(3)
    save([generator], path)
    assert load(path)[0].random() == np.random.default_rng(3).random()

    def change(members):
        state = members["schema.json"]["content"][0]["content"]["seed_seq"]["content"]
        state["pool_size"]["content"] = "1000000"

    rewritten(path, change)
    refused(path, "a seed sequence with a pool of 1,000,000 numbers")


@pytest.mark.parametrize("size", ["1e6", "1000000.5", "1000000.0"])
def test_a_pool_whose_size_is_a_fraction(size, path):
    save([np.random.default_rng(3)], path)

    def change(members):
        state = members["schema.json"]["content"][0]["content"]["seed_seq"]["content"]
        state["pool_size"]["content"] = size

    rewritten(path, change)
    refused(path, "a seed sequence with a pool of 1,000,000 numbers")


def test_bytes_around_an_archive(path):
    """Nothing follows the list of contents, which zipfile would take for a comment."""
    save([1.5], path)
    content = path.read_bytes()
    for more in (content + b"\0", content + b"more" * 1000, content[:-1], b"\0" + content):
        path.write_bytes(more)
        refused(path, "altered")
    path.write_bytes(content)
    assert load(path) == [1.5]


@pytest.mark.parametrize("depth", [50, 180, 205, 300, 2000])
def test_objects_in_objects(depth, path):
    """What is too deep to load is refused when it is saved."""
    value: list = []
    for _ in range(depth):
        value = [value]
    if depth <= 180:
        save(value, path)
        assert load(path) == value
    else:
        reason = "levels" if depth == 205 else "levels|recursion"  # skops comes first
        with pytest.raises(ModelFileError, match=rf"list cannot be saved: .*({reason})"):
            save(value, path)
        assert not path.exists()
        save([1], path)

        def change(members):
            text = '{"content": [' * depth + "]}" * depth
            members["schema.json"] = text

        rewritten(path, change)
        refused(path, r"levels|recursion")


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update({"schema.json": "[]"}),
        lambda m: m.update({"schema.json": "null"}),
        lambda m: m.update({"schema.json": "{"}),
        lambda m: m.update({"schema.json": "\ud800".encode("utf-8", "surrogatepass")}),
        lambda m: m.pop("schema.json"),
        lambda m: m["schema.json"].update(__loader__=[]),
        lambda m: m["schema.json"].update(__loader__="NoNode"),
        lambda m: m["schema.json"].update(__class__={}),
        lambda m: m["schema.json"].update(__class__=None),
        lambda m: m["schema.json"].update(__id__=[1]),
        lambda m: m["schema.json"].update(protocol=True),
        lambda m: m["schema.json"].update(protocol=10**9),
        lambda m: m["schema.json"].update(content={"a": 1}),
        lambda m: m["schema.json"].update(content=None),
        lambda m: m["schema.json"]["content"][0].update(content="["),
        lambda m: m["schema.json"]["content"][0].update(content="[" * 10**5),
        lambda m: m["schema.json"]["content"][0].update(content=1),
    ],
)
def test_descriptions_that_are_none(change, path):
    save([1], path)
    rewritten(path, change)
    refused(path, r"not a Mercer model, or it is truncated or altered: .*(Copy it again|built)")
