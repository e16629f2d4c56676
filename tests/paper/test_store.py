import json
import multiprocessing
import sqlite3
import time

import pytest

from kernelhood.paper.jobs import Job, Store, StoreError, write_file


def make_job(run, method="mt-onmkl", **more):
    settings = {"seed": 0, "metric": "accuracy", "train_fraction": 0.2, "grid": "quick", **more}
    return Job("digits", method, run, **settings)


def make_row(job, error=None, score=0.5):
    names = ("dataset", "method", "run", "settings")
    return {**dict(zip(names, job.key, strict=True)), "score": score, "error": error}


def test_rows_come_back_in_the_order_of_the_jobs(tmp_path):
    jobs = [make_job(run) for run in range(3)]
    with Store(tmp_path / "new" / "runs.sqlite") as store:
        for job in (jobs[2], jobs[0]):
            store.write(make_row(job))
    with Store(tmp_path / "new" / "runs.sqlite") as store:
        assert [row["run"] for row in store.rows(jobs)] == [0, 2]
        assert store.missing(jobs) == [jobs[1]]


def test_floats_come_back_bit_for_bit(tmp_path):
    job = make_job(0)
    with Store(tmp_path / "runs.sqlite") as store:
        store.write(make_row(job, score=0.1 + 0.2))
        assert store.rows([job])[0]["score"] == 0.1 + 0.2


def test_failures_are_kept_but_not_taken_for_done():
    job = make_job(0)
    with Store(None) as store:
        store.write(make_row(job, error="ValueError: no"))
        assert store.rows([job])[0]["error"] == "ValueError: no"
        assert store.missing([job]) == [job]
        store.write(make_row(job, score=0.7))
        assert store.missing([job]) == []
        store.write(make_row(job, error="late"))
        store.write(make_row(job, score=0.8))
        assert store.rows([job])[0]["score"] == 0.7


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"metric": "auc"}, {"train_fraction": 0.3}, {"grid": "paper"}]
)
def test_a_changed_setting_is_a_different_row(change):
    with Store(None) as store:
        store.write(make_row(make_job(0)))
        assert store.missing([make_job(0, **change)])
        assert store.rows([make_job(0, **change)]) == []


def write_many(path, numbers):
    with Store(path) as store:
        for number in numbers:
            store.write(make_row(make_job(number), score=number / 7))


def test_two_processes_on_one_store_lose_nothing(tmp_path):
    path = tmp_path / "runs.sqlite"
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=write_many, args=(path, range(20, 60)))
    other.start()
    while other.is_alive() and not path.exists():
        time.sleep(0.001)
    write_many(path, range(60))
    other.join(60)
    assert other.exitcode == 0
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        stored = connection.execute("SELECT content FROM runs").fetchall()
    connection.close()
    scores = sorted(json.loads(text)["score"] for (text,) in stored)
    assert scores == [number / 7 for number in range(60)]


def test_read_only_store_is_one_clear_error(tmp_path, monkeypatch):
    path = tmp_path / "runs.sqlite"
    Store(path).__exit__()
    connect = sqlite3.connect

    def connect_read_only(name, **options):
        return connect(f"file:{name}?mode=ro", uri=True, **options)

    monkeypatch.setattr(sqlite3, "connect", connect_read_only)
    with pytest.raises(StoreError, match=r"cannot use the store .*runs.sqlite: .*readonly"):
        Store(path)


def test_full_disk_is_one_clear_error_and_leaves_whole_rows(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        store._connection.execute("PRAGMA max_page_count = 8")
        rows = [{**make_row(make_job(run)), "weights": "w" * 2000} for run in range(100)]
        with pytest.raises(StoreError, match="database or disk is full.*the disk not full"):
            list(map(store.write, rows))
        kept = store.rows(make_job(run) for run in range(100))
    assert 0 < len(kept) < 100
    assert all(len(row["weights"]) == 2000 for row in kept)


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "file").write_text("this is not a database, whatever its name says" * 20)
    with pytest.raises(StoreError, match="not a database"):
        Store(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot use the store"):
        Store(tmp_path / "file" / "runs.sqlite")
    with pytest.raises(StoreError, match="cannot use the store"):
        Store(tmp_path)


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch):
    path = write_file(tmp_path / "table.md", "old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
