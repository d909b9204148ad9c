"""mercer variants: files of sequences and of variants in, a table and a picture out."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from tests.cli.runner import command, printed

import mercer
from mercer.cli.tables import read_table
from mercer.kernels import GappedKmer

MOTIF = "TTGACATA"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with two files of classes, new sequences, and a model."""
    folder = tmp_path_factory.mktemp("variants")
    rng = np.random.default_rng(0)
    for name, motif, n in (("bound", MOTIF, 60), ("free", "", 60), ("new", MOTIF, 3)):
        texts = ["".join(rng.choice(list("ACGT"), 50)) for _ in range(n)]
        texts = [text[:20] + (motif or text[20:28]) + text[28:] for text in texts]
        (folder / f"{name}.fa").write_text(
            "".join(f">{name}{i}\n{text}\n" for i, text in enumerate(texts))
        )
    fit = ("fit", folder / "bound.fa", folder / "free.fa", "--trials", 3, "--quiet")
    assert command(*fit, "-o", folder / "m.mercer") == 0
    return folder


@pytest.fixture(autouse=True)
def folder(made, tmp_path, monkeypatch):
    for name in ("m.mercer", "new.fa"):
        (tmp_path / name).symlink_to(made / name)
    monkeypatch.chdir(tmp_path)


def test_a_fit_of_sequences_says_what_is_next(made, capsys):
    few = ("--trials", 1, "-o", "n.mercer")
    code, said = printed(capsys, "fit", made / "bound.fa", made / "free.fa", *few)
    assert code == 0, said
    assert "mercer variants n.mercer NEW.fa -o variants.csv --picture variants.png" in said
    assert "Which pieces of sequence speak for what:" in said
    assert f"bound: {MOTIF}" in said


def test_all_letters_in_each_place(capsys):
    code, said = printed(
        capsys, "variants", "m.mercer", "new.fa", "-o", "v.csv", "--of", "bound", "--picture",
        "v.png", "--keep", "sequence",
    )  # fmt: skip
    assert code == 0, said
    assert "the log-odds of 'bound' without and with the variant" in said
    assert "450 variants of 3 sequences: v.csv" in said
    found = pl.read_csv("v.csv")
    assert found.columns == [
        "id", "position", "reference", "alternative", "before", "after", "change", "sequence",
    ]  # fmt: skip
    assert_allclose(found["change"], found["after"] - found["before"])
    in_motif = found["position"].is_between(21, 28)
    means = [found.filter(part)["change"].to_numpy().mean() for part in (in_motif, ~in_motif)]
    assert means[0] < means[1]
    assert Path("v.png").read_bytes().startswith(b"\x89PNG")
    model = mercer.load("m.mercer")
    text = found["sequence"][0]
    one = pl.DataFrame({"id": ["x"], "sequence": [found["alternative"][0] + text[1:]]})
    odds = np.log(model.predict_proba(one)[0])
    assert_allclose(found["after"][0], odds[0] - odds[1], atol=1e-6)
    code, said = printed(
        capsys, "variants", "m.mercer", "new.fa", "-o", "w.parquet", "--json", "--of", "free"
    )
    facts = json.loads(said)
    assert facts["variants"] == 450
    assert_allclose(pl.read_parquet("w.parquet")["change"], -found["change"], atol=1e-12)


@pytest.mark.full
def test_variants_of_files(capsys):
    text = read_table("new.fa")["sequence"]
    Path("v.csv").write_text(
        f"id,position,reference,alternative\nnew0,21,{text[0][20].lower()},A\n"
        f"new1,5,{text[1][4:7]},-\nnew2,51,-,ACG\n"
    )
    Path("v.vcf").write_text(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\n"
        f"new0\t21\t.\t{text[0][20]}\tA,C\t9\nnew1\t5\trs1\t{text[1][4:7]}\t{text[1][4]}\t9\n"
        f"new2\t3\t.\t{text[2][2]}\t.\t9\n"
    )
    assert command("variants", "m.mercer", "new.fa", "--variants", "v.csv", "-o", "a.csv") == 0
    found = pl.read_csv("a.csv")
    assert found["reference"].to_list() == [text[0][20], text[1][4:7], "-"]
    assert found["alternative"].to_list() == ["A", "-", "ACG"]
    picture = ("--picture", "p.svg", "--force", "--quiet")
    assert command(
        "variants", "m.mercer", "new.fa", "--variants", "v.vcf", "-o", "b.csv", *picture
    ) == 0  # fmt: skip
    found = pl.read_csv("b.csv")
    assert found["alternative"].to_list() == ["A", "C", text[1][4]]
    assert "<svg" in Path("p.svg").read_text()
    Path("one.fa").write_text(f">x\n{text[0]}\n")
    Path("one.csv").write_text("position,alternative\n1,G\n")
    assert command("variants", "m.mercer", "one.fa", "--variants", "one.csv", "-o", "c.csv") == 0
    assert pl.read_csv("c.csv").height == 1


def test_wrong_variants_are_named_with_their_rows(capsys):
    rows = ["new9,1,A,C", "new0,0,A,C", "new0,51,A,C", "new0,x,A,C", "new0,1,,<DEL>"]
    text = read_table("new.fa")["sequence"][0]
    rows.append(f"new0,2,{'A' if text[1] != 'A' else 'C'},G")
    Path("v.csv").write_text("id,position,reference,alternative\n" + "\n".join(rows) + "\n")
    code, said = printed(
        capsys, "variants", "m.mercer", "new.fa", "--variants", "v.csv", "-o", "a.csv"
    )
    assert code == 3
    for i, what in enumerate([
        "no sequence is called 'new9'; there are new0, new1, new2.",
        "the position is '0', but 'new0' has 50 letters: give a whole number from 1.",
        "the position is '51'", "the position is 'x'", "'<DEL>': give letters, or - for none.",
    ]):  # fmt: skip
        assert f"v.csv, row {i + 1}: {what}" in said
    assert "1 more row is wrong" in said
    Path("v.csv").write_text(f"id,position,reference,alternative\n{rows[-1]}\n")
    code, said = printed(
        capsys, "variants", "m.mercer", "new.fa", "--variants", "v.csv", "-o", "a.csv"
    )
    assert "at position 2 (positions count from 1)" in said
    Path("v.csv").write_text("id,place\nnew0,1\n")
    code, said = printed(
        capsys, "variants", "m.mercer", "new.fa", "--variants", "v.csv", "-o", "a.csv"
    )
    assert (code, "v.csv lacks the column position; it has ['id', 'place']" in said) == (3, True)
    Path("v.vcf").write_text("##x\nnew0 1 A C\n")
    code, said = printed(
        capsys, "variants", "m.mercer", "new.fa", "--variants", "v.vcf", "-o", "a.csv"
    )
    assert "v.vcf, line 2: it is 'new0 1 A C', but a variant of VCF has CHROM" in said
    assert not Path("a.csv").exists()


def test_variants_of_a_vcf_are_named_with_their_lines(capsys):
    """Among rows without a variant, blank lines and lines of the header."""
    rows = "new0\t1\t.\tA\t.\n\nnew9\t1\t.\tA\tC\nnew0\t2\t.\tC\t.\nnew0\t99\t.\tA\tC\n"
    Path("v.vcf").write_text(f"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n{rows}")
    code, said = printed(
        capsys, "variants", "m.mercer", "new.fa", "--variants", "v.vcf", "-o", "a.csv"
    )
    assert code == 3
    assert "v.vcf, line 5: no sequence is called 'new9'" in said
    assert "v.vcf, line 7: the position is '99'" in said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-o", "v.txt"], 2, "--output v.txt: the name must end in .csv, .tsv, .parquet"),
        (["-o", "v.csv", "--picture", "v.jpg"], 2, "must end in .png, .svg, .pdf"),
        (["-o", "v.csv", "--of", "b"], 2, "--of b: give one of the classes bound, free"),
        (["-o", "v.csv", "--column", "seq"], 3, "--column seq: new.fa has no such column"),
        (["-o", "v.csv", "--keep", "id"], 3, "--keep id: the variants have a column of that name"),
        (["-o", "v.csv", "--keep", "x"], 3, "--keep x: new.fa has no such column"),
        (["-o", "v.csv", "--variants", "none.csv"], 3, "none.csv"),
        (["-o", "new.fa"], 4, "--output would replace a file that is read"),
    ],
)
def test_wrong_options_are_named(capsys, arguments, code, said):
    found = printed(capsys, "variants", "m.mercer", "new.fa", *arguments)
    assert (found[0], said in found[1]) == (code, True), found
    assert not Path("v.csv").exists()


def test_a_point_is_no_deletion(capsys):
    """Neither in VCF, where it says that there is no variant, nor elsewhere."""
    Path("v.vcf").write_text("##fileformat=VCFv4.2\nnew9\t1\t.\tA\t.\n")
    call = ("variants", "m.mercer", "new.fa", "--variants", "v.vcf", "-o", "a.csv")
    code, said = printed(capsys, *call)
    assert (code, "v.vcf has no rows" in said) == (3, True)
    Path("v.csv").write_text("id,position,alternative\nnew0,1,.\n")
    call = ("variants", "m.mercer", "new.fa", "--variants", "v.csv", "-o", "b.csv")
    code, said = printed(capsys, *call)
    assert (code, "row 1: '.': give letters, or - for none." in said) == (3, True)


@pytest.mark.parametrize("name", ["x", "id", "change"])
def test_columns_to_keep_are_checked_before_anything_is_scored(capsys, monkeypatch, name):
    Path("t.csv").write_text(f"id,sequence,change\na,{MOTIF},1\n")

    def scored(*_, **__):
        raise AssertionError("scored")

    monkeypatch.setattr("mercer.explain.variants", scored)
    call = ("variants", "m.mercer", "t.csv", "-o", "v.csv", "--keep", name)
    code, said = printed(capsys, *call)
    assert (code, f"--keep {name}: " in said) == (3, True)


def test_models_of_other_data(capsys):
    Path("t.csv").write_text("a,b\n" + "\n".join(f"{i},{i % 7}" for i in range(40)) + "\n")
    assert command("fit", "t.csv", "--target", "b", "--trials", 1, "--quiet", "-o", "t.mercer") == 0
    code, said = printed(capsys, "variants", "t.mercer", "new.fa", "-o", "v.csv")
    assert code == 3
    assert "lacks" in said or "reads no column of sequences, but a" in said
    Path("no.csv").write_text("id,letters\nx,ACGT\n")
    code, said = printed(capsys, "variants", "m.mercer", "no.csv", "-o", "v.csv")
    assert (code, "sequence" in said) == (3, True)


def test_proteins_in_place_of_dna_are_said(capsys):
    Path("p.fa").write_text(">a\nMKVLLAGW\n>b\nACGTRYN\n")
    for call in (("variants", "-o", "v.csv"), ("predict", "-o", "p.csv")):
        code, said = printed(capsys, call[0], "m.mercer", "p.fa", *call[1:])
        assert code == 0, said
        assert "sequence: 1 of 2 has letters that are no nucleotides, such as 'MKVLLAGW'" in said


@pytest.mark.full
def test_a_model_from_python(capsys):
    texts = read_table("new.fa")["sequence"].to_list()
    model = mercer.SVC(kernel=GappedKmer(6, 4, True).normalised())
    mercer.save(model.fit([*texts, *(t[::-1] for t in texts)], [1, 1, 1, 0, 0, 0]), "p.mercer")
    code, said = printed(
        capsys, "variants", "p.mercer", "new.fa", "-o", "v.csv", "--picture", "v.png"
    )
    assert code == 0, said
    assert "the decision value of '1'" in said
    assert pl.read_csv("v.csv").height == 450


@pytest.mark.full
def test_several_classes_and_numbers(capsys):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(90)]
    rows = [f"{'abc'[i % 3]},{t[:9] + 'A' * (i % 3) * 3 + t[9:]}" for i, t in enumerate(texts)]
    Path("t.csv").write_text("kind,dna\n" + "\n".join(rows) + "\n")
    fit = ("--trials", 2, "--quiet")
    assert command("fit", "t.csv", "--target", "kind", *fit, "-o", "t.mercer") == 0
    Path("n.csv").write_text(f"dna\n{texts[0]}\n")
    call = ("variants", "t.mercer", "n.csv", "-o", "v.csv", "--picture", "v.png", "--force")
    code, said = printed(capsys, *call)
    assert code == 0, said
    assert "the log-odds of each class" in said
    assert "change_c" in pl.read_csv("v.csv").columns
    assert command(*call, "--of", "c", "--quiet") == 0
    assert "change" in pl.read_csv("v.csv").columns
    numbers = [f"{i % 3},{row[2:]}" for i, row in enumerate(rows)]
    Path("u.csv").write_text("y,dna\n" + "\n".join(numbers) + "\n")
    regress = ("fit", "u.csv", "--target", "y", "--task", "regression", *fit)
    assert command(*regress, "-o", "u.mercer") == 0
    code, said = printed(capsys, "variants", "u.mercer", "n.csv", "-o", "v.csv", "--force")
    assert "are the prediction without and with" in said
    code, said = printed(capsys, "variants", "u.mercer", "n.csv", "-o", "x.csv", "--of", "1")
    assert (code, "predicts numbers, and has no classes" in said) == (2, True)
