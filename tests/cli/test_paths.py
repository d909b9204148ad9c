"""All paths of a run: none of its files replaces another one, whatever it is called."""

import os
from pathlib import Path
from typing import Any

import pytest

from cli.runner import command, options, printed
from mercer.cli.app import COMMANDS

#: the paths of each command: what it writes, the folders that it fills, and what it reads
WRITES = {
    "fit": {"output": "m.mercer"},
    "predict": {"output": "p.csv"},
    "report": {"output": "r.html"},
    "check": {},
    "variants": {"output": "v.csv", "picture": "v.png"},
    "neighbors": {"output": "n.csv"},
    "map": {"output": "m.html", "points": "p.csv"},
    "link": {"output": "l.csv", "clusters": "c.csv", "report": "r.html"},
    "denoise": {"output": "o.wav"},
    "dedup": {"output": "o.jsonl", "pairs": "p.csv", "report": "r.html"},
    "demo": {},
}
FILLS = {"dedup": ["work", "index"], "link": ["work"], "demo": ["folder"]}
READS = {
    "fit": ["train", "more", "test", "resume"],
    "predict": ["model", "table", "more"],
    "report": ["model", "table", "more"],
    "check": ["table", "more", "test"],
    "variants": ["model", "sequences", "more", "variants"],
    "neighbors": ["items", "query"],
    "map": ["table", "more"],
    "link": ["left", "right", "labels"],
    "denoise": ["recording", "more", "model"],
    "dedup": ["file", "more", "against"],
}
MEANT = {
    ("fit", "output", "resume"),  # a search is gone on with in the place of the model that it left
    ("denoise", "output", "more"),  # several recordings go to a folder, see below
}
OPTIONAL = ("more", "test", "resume", "query", "against", "right", "labels", "variants")
NEEDED = {"fit": ["--target", "y"], "report": ["--target", "y"]}


def parameters(name):
    """The parameters of a command that are paths."""
    return [argument.field_info for argument in options(name) if "Path" in str(argument.hint)]


@pytest.mark.parametrize("name", [name.rstrip("_") for name in COMMANDS])
def test_every_path_of_a_command_is_in_the_tables(name):
    known = [*WRITES[name], *FILLS.get(name, []), *READS.get(name, [])]
    assert sorted(p.name for p in parameters(name)) == sorted(known)


def arguments(name, paths):
    """A command line in which paths have these names."""
    given: list[Any] = [name]
    for parameter in parameters(name):
        path = paths.get(parameter.name)
        if path is None:
            continue
        single = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
        given += [path] if single else [f"--{parameter.name}={path}"]
    return [*given, *NEEDED.get(name, []), "--force"]


def content(path):
    """A file that is there, with something in it that can be a document."""
    if not os.path.lexists(path):
        Path(path).write_bytes(b'{"text": "a b c d"}\n')


PAIRS = [
    (name, written, other)
    for name, outputs in WRITES.items()
    for k, written in enumerate(outputs)
    for other in (*list(outputs)[:k], *FILLS.get(name, []), *READS[name])
    if (name, written, other) not in MEANT
] + [("dedup", "index", "work")]


def names_for(name, written, other):
    """Paths with which a command could begin, of which two are one, and the name of that."""
    reads = [path for path in READS[name] if path not in OPTIONAL]
    reads = [path for path in reads if (name, path) != ("denoise", "model")]
    suffix = ".jsonl" if name == "dedup" else Path(WRITES[name].get(written, "")).suffix
    both = f"both{suffix}"
    if name == "dedup" and other not in READS[name] and written != "output":
        both = WRITES[name].get(written, "both")
    paths = {path: f"{path}{suffix}" for path in reads} | {"output": WRITES[name]["output"]}
    return paths | {written: both, other: both}, both


@pytest.mark.spread(30)
@pytest.mark.parametrize("how", ["same", "relative", "symbolic link", "hard link", "case"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_what_is_written_is_no_other_path(pair, how, capsys):
    name, written, other = pair
    paths, both = names_for(name, written, other)
    for reading in READS[name]:
        if reading in paths:
            content(paths[reading])
    link = f"link{Path(both).suffix}"
    if how == "relative":
        paths[other] = f"../{Path.cwd().name}/{both}"
    elif how == "symbolic link":
        os.symlink(both, link)
        paths[other] = link
    elif other in READS[name] and how != "same":  # a disk that is blind to case is like this
        os.link(both, link)
        paths[other] = link
    elif how == "case":
        paths[other] = f"{Path(both).stem.upper()}{Path(both).suffix}"
    elif how == "hard link":
        return  # one name gets another file, and the other one keeps its own
    before = {path: path.read_bytes() for path in Path.cwd().iterdir() if path.exists()}
    code, said = printed(capsys, *arguments(name, paths))
    words = (
        "would replace a file that is read", "would both be written to", "is in that folder",
        "this is a file; give a folder",
    )  # fmt: skip
    assert any(part in said for part in words), said
    assert code in (2, 4)
    assert {path: path.read_bytes() for path in Path.cwd().iterdir() if path.exists()} == before


@pytest.mark.parametrize("first", ["in/a.wav", "in/A.wav"])
def test_two_recordings_are_not_written_to_one_file(first, capsys):
    for folder in ("in", "more", "out"):
        Path(folder).mkdir()
    for path in (first, "more/a.wav"):
        content(path)
    code, said = printed(capsys, "denoise", first, "more/a.wav", "-o", "out")
    assert (code, "would both be written to out/a.wav" in said) == (2, True)
    code, said = printed(capsys, "denoise", first, "more/a.wav", "-o", "more", "--force")
    assert code in (2, 4)
    assert Path("more/a.wav").read_bytes() == Path(first).read_bytes()


def test_hidden_folders_of_a_run_hold_no_file_of_the_user(capsys):
    """The folder of the stages lies beside the output, and is removed in the end."""
    Path("o.jsonl.work").mkdir()
    content("o.jsonl.work/in.jsonl")
    content("in.jsonl")
    for given in (["o.jsonl.work/in.jsonl"], ["in.jsonl", "--pairs", "o.jsonl.work/p.csv"]):
        code, said = printed(capsys, "dedup", *given, "-o", "o.jsonl")
        assert (code, "is in that folder" in said) == (2, True)
    for name in ("in.jsonl", "plan.json"):  # of another program
        code, said = printed(capsys, "dedup", "in.jsonl", "-o", "o.jsonl")
        assert (code, "Give an empty folder" in said) == (3, True)
        assert sorted(os.listdir("o.jsonl.work")) == [name]
        Path(f"o.jsonl.work/{name}").unlink()
        content("o.jsonl.work/plan.json")
    Path("o.jsonl.work/plan.json").unlink()
    assert command("dedup", "in.jsonl", "-o", "o.jsonl") == 0
    assert sorted(os.listdir()) == ["in.jsonl", "o.jsonl"]


def test_the_demo_replaces_its_own_files_alone(capsys, monkeypatch):
    ran = []
    monkeypatch.setattr("mercer.cli.app.run", ran.append)
    Path("mine").mkdir()
    for name in ("throws.csv", "throws.mercer"):
        content(f"mine/{name}")
        code, said = printed(capsys, "demo", "--folder", "mine")
        assert (code, f"mine/{name}: the file exists" in said) == (4, True)
        assert os.listdir("mine") == [name]
        Path(f"mine/{name}").unlink()
    assert not ran
