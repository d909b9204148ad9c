"""A linkage in tasks: shards, other processes and kills change nothing about what is found."""

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from cli.test_dedup_shared import elsewhere
from killed_task import dying_once
from lanes import few
from link.test_record_linkage import fitted, one_table, tables
from mercer import RecordLinkage
from mercer.cli.executors import mapped_by
from mercer.distances import Edit
from mercer.link import stages
from mercer.persistence import load_arrays, save_arrays, tasks

#: a fit in a process that kills itself when it begins to write a file of a stage
KILLED = """
import os, pickle, signal, sys
from mercer import RecordLinkage
from mercer.link import stages
from mercer.persistence import tasks
name, count, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
write, left, stages.SHARD = tasks.write_whole, [count], int(sys.argv[5])
def killing(path, content):
    left[0] -= path.name.startswith(name)
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, content)
tasks.write_whole = killing
with open(sys.argv[4], "rb") as file:
    RecordLinkage(n_jobs=1).fit(*pickle.load(file), work=folder)
"""


def equal(one, other):
    """The same pairs with the same bits, the same clusters and passes."""
    for name, array in vars(one.near_).items():
        assert_array_equal(array, getattr(other.near_, name))
    assert_array_equal(one.labels_, other.labels_)
    assert (one.passes_, one.missed_, one.crowded_) == (
        other.passes_,
        other.missed_,
        other.crowded_,
    )
    assert one.n_candidates_ == other.n_candidates_


@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("executor", [None, elsewhere])
def test_shards_and_executors_change_nothing(shards, executor, tmp_path, monkeypatch):
    (A, B, _), whole = tables(), fitted()
    monkeypatch.setattr(stages, "SHARD", -(-len(A) // shards))
    model = RecordLinkage().fit(
        A, B, work=None if executor is None else tmp_path, executor=executor
    )
    equal(model, whole)
    made = sum(path.name.startswith("levels-") for path in tmp_path.iterdir())
    assert made == (shards if executor else 0)


@pytest.mark.parametrize("shards", [2, 5])
def test_shards_of_one_table(shards, tmp_path, monkeypatch):
    both, _ = one_table()
    whole = RecordLinkage(distances={"street": Edit()}).fit(both)
    monkeypatch.setattr(stages, "SHARD", -(-len(both) // shards))
    model = RecordLinkage(distances={"street": Edit()})
    equal(model.fit(both, work=tmp_path, executor=elsewhere), whole)


def test_letters_of_any_script_go_to_other_processes(tmp_path):
    A, B, _ = tables(200)
    for sign in ("李", "\ud800"):
        names = [[f"{sign}{name}" for name in t["last_name"]] for t in (A, B)]
        A, B = (t.assign(last_name=pd.Series(n, dtype=object)) for t, n in zip((A, B), names))
    equal(RecordLinkage().fit(A, B, work=tmp_path, executor=elsewhere), RecordLinkage().fit(A, B))


def test_a_folder_that_is_used_again_has_no_columns_of_earlier_tables(tmp_path):
    """Other processes keep what they have read of a job."""
    A, B, _ = tables(200)
    RecordLinkage().fit(A, B, work=tmp_path, executor=elsewhere)
    C, D, _ = tables(200, 5)
    equal(RecordLinkage().fit(C, D, work=tmp_path, executor=elsewhere), RecordLinkage().fit(C, D))


@pytest.mark.parametrize(
    ("name", "count"), few(1, [("found", 4), ("levels", 2), ("views", 3), ("doubles", 1)])
)
def test_after_a_kill_it_goes_on_from_what_is_written(name, count, tmp_path, monkeypatch):
    A, B, _ = tables(200)
    both = pd.concat([A, B], ignore_index=True)
    (tmp_path / "tables").write_bytes(pickle.dumps([both]))
    shard = -(-len(both) // 3)
    paths = tmp_path / "w", tmp_path / "tables"
    asked = [sys.executable, "-c", KILLED, name, str(count), *paths, str(shard)]
    assert subprocess.run(asked, check=False, timeout=60).returncode == -signal.SIGKILL
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "w").glob("*.npz")}
    assert before
    assert not (tmp_path / "w" / f"{name}-{count - 1:05d}.npz").exists()
    whole = RecordLinkage().fit(both)
    monkeypatch.setattr(stages, "SHARD", shard)
    equal(RecordLinkage().fit(both, work=tmp_path / "w"), whole)
    for path, stamp in before.items():
        assert path.stat().st_mtime_ns == stamp


def test_processes_with_numbers_share_the_work(tmp_path, monkeypatch):
    (A, B, _), whole = tables(), fitted()
    monkeypatch.setattr(stages, "SHARD", 100)
    done, perform = [], stages.LinkStages.perform

    def noted(self, stage, number):
        if not self.done(stage, number):
            done.append((self.task[0], stage, number))
        perform(self, stage, number)

    monkeypatch.setattr(stages.LinkStages, "perform", noted)
    with ThreadPoolExecutor(3) as pool:
        asked = [
            pool.submit(RecordLinkage(n_jobs=1).fit, A, B, work=tmp_path, task=(number, 3))
            for number in range(3)
        ]
        for future in asked:
            equal(future.result(timeout=60), whole)
    assert {number for number, *_ in done} == {0, 1, 2}
    assert len({tuple(rest) for _, *rest in done}) == len(done)  # each once
    with pytest.raises(ValueError, match="belongs to a job with other tables or parameters"):
        RecordLinkage(max_block=20).fit(A, B, work=tmp_path, task=(0, 2))


@pytest.mark.parametrize(
    "task", [(1, 1), (8, 8), (0, 0), (-1, 2), (0, 1.0), (False, 1), (0,), (0, 1, 2), 3, "12", None]
)
@pytest.mark.parametrize("shared", [False, True])
def test_the_number_of_a_process_is_one_of_them(task, shared, tmp_path):
    A, B, _ = tables(40)
    with pytest.raises(ValueError, match=r"task=.*: give the number of this process, from 0, and"):
        RecordLinkage().fit(A, B, work=tmp_path if shared else None, task=task)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("found-00001", lambda found: found | {"any": found["any"][:-1]}),
        ("found-00001", lambda found: found | {"small": found["small"].astype(float)}),
        ("found-00001", lambda found: found | {"shard0": found["shard1"]}),
        ("found-00001", lambda found: {"any": found["any"]}),
        ("levels-00001", lambda found: found | {"pairs": found["pairs"] - (100 << 32)}),
        ("levels-00001", None),
        ("passes", None),
    ],
)
def test_files_that_no_task_can_have_made_are_made_again(name, change, tmp_path, monkeypatch):
    (A, B, _), whole = tables(), fitted()
    monkeypatch.setattr(stages, "SHARD", -(-len(A) // 2))
    RecordLinkage().fit(A, B, work=tmp_path)
    for path in tmp_path.glob("levels-*"):
        if not name.startswith("levels"):
            path.unlink()
    path = tmp_path / f"{name}.npz"
    before = load_arrays(path)
    if change is None:
        path.write_bytes(b"PK" + path.read_bytes()[9:])
    else:
        save_arrays(path, **change(before))
    equal(RecordLinkage().fit(A, B, work=tmp_path), whole)
    after = load_arrays(path)
    assert before.keys() == after.keys()
    for key, array in before.items():
        assert_array_equal(after[key], array)


def test_only_files_that_are_used_are_read(tmp_path, monkeypatch):
    """Of a linkage that is done: the passes, and what they have found."""
    A, B, _ = tables(200)
    whole = RecordLinkage().fit(A, B, work=tmp_path)
    load, read = stages.load_arrays, set()

    def noted(path, *names):
        read.add(path.name)
        return load(path, *names)

    monkeypatch.setattr(stages, "load_arrays", noted)
    equal(RecordLinkage().fit(A, B, work=tmp_path), whole)
    assert {name.partition("-")[0] for name in read} == {"passes.npz", "crowded.npz", "levels"}


@pytest.mark.parametrize("cleans", ["damaged", "others", "forget"])
def test_two_processes_clean_one_folder(cleans, tmp_path, monkeypatch):
    """Another process removes each file between a look and what follows it."""
    kept, unlink, load = stages.Kept(tmp_path), Path.unlink, stages.load_arrays
    for k in range(3):
        (tmp_path / f"levels-0000{k}.npz").write_bytes(b"damaged")

    def other_first(path, *names):
        if path.name.endswith("1.npz"):
            unlink(path)
        return load(path, *names)

    def other_too(path, **options):
        unlink(path)
        unlink(path, **options)

    monkeypatch.setattr(stages, "load_arrays", other_first)
    monkeypatch.setattr(Path, "unlink", other_too)
    if cleans == "damaged":
        kept.unchecked = {path.name for path in tmp_path.iterdir()}  # as of an earlier process
        assert not any(kept.done("levels", k, lambda *_: True) for k in range(3))
    elif cleans == "others":
        stages.Kept(tmp_path, {"other": 1})
    else:
        stages.forget_stages(tmp_path)
    assert not list(tmp_path.glob("*.npz"))
    assert tmp_path.exists() == (cleans != "forget")


def test_an_executor_needs_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "LATE", 0.0)
    A, B, _ = tables(40)
    with pytest.raises(ValueError, match="executor: give work, a folder"):
        RecordLinkage().fit(A, B, executor=map)
    with pytest.raises(ValueError, match="task: give work, a folder"):
        RecordLinkage().fit(A, B, task=(0, 2))
    with pytest.raises(ValueError, match=r"task=\(0, 2\): an executor is given, too; give one of"):
        RecordLinkage().fit(A, B, work=tmp_path, executor=map, task=(0, 2))
    with pytest.raises(TypeError, match="executor=3: give an object with a method map"):
        RecordLinkage().fit(A, B, work=tmp_path, executor=3)
    with pytest.raises(RuntimeError, match="tasks of the stage 'views' were not done"):
        RecordLinkage().fit(A, B, work=tmp_path, executor=lambda function, numbers: [])


# Dask leaves sockets open where a worker has died
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.full
@pytest.mark.parametrize("kind", ["processes:2", "dask"])
def test_one_of_two_workers_is_killed(kind, tmp_path):
    A, B, _ = tables()
    marker = str(tmp_path / "killed")
    if kind == "dask":
        distributed = pytest.importorskip("distributed")
        cluster = distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0")
        kind = f"dask:{cluster.scheduler_address}"
        with distributed.Client(cluster) as client:
            equal(RecordLinkage().fit(A, B, work=tmp_path / "v", executor=client), fitted())

    def killing(function, numbers):
        return mapped(partial(dying_once, marker, function), numbers)

    with mapped_by(kind) as mapped:
        model = RecordLinkage().fit(A, B, work=tmp_path / "w", executor=killing)
    if kind.startswith("dask"):
        cluster.close()
    assert os.path.exists(marker)
    equal(model, fitted())
