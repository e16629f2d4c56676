"""Hostile tables and changed model files through ``kernelhood fit | predict | inspect``.

    python tests/fuzz.py tables --examples 10000
    python tests/fuzz.py models --examples 10000

Every command has to end with exit code 0 or 1, with one line of error if it failed, and with no
file left that it did not promise. A traceback is a failure, and so is anything that runs code or
leaves the process: an audit hook watches for it. The examples are those of tests/cli/test_fuzz.py,
which runs a few of them. Needs the extras ``table`` and ``dev``.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import io
import json
import random
import re
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from kernelhood.cli import main as kernelhood

#: What reading a table or a model file has no business to do, as Python's audit events name it.
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.startfile",
    "subprocess.Popen",
    "socket.connect",
    "urllib.Request",
    "shutil.rmtree",
)
#: Numba unpickles what it compiled earlier, in which these have no place either.
CODE = ("os", "posix", "nt", "subprocess", "shutil", "socket")

HARMLESS = ("kernelhood: note: ", "kernelhood: compiling ")


class Watch:
    """Notes forbidden events while a command runs."""

    def __init__(self) -> None:
        self.on, self.seen = False, []
        sys.addaudithook(self._note)

    def _note(self, event, arguments):
        if self.on and (
            event in FORBIDDEN or (event == "pickle.find_class" and arguments[0] in CODE)
        ):
            self.seen.append((event, *arguments))

    @contextlib.contextmanager
    def __call__(self):
        self.on, self.seen = True, []
        try:
            yield
        finally:
            self.on = False
        assert not self.seen, f"the command did {self.seen}"


WATCH = Watch()


def run(*words):
    """Run a command; return its exit code and what it wrote to standard error."""
    out, errors = io.StringIO(), io.StringIO()
    with WATCH(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = kernelhood([str(one) for one in words])
    text = errors.getvalue()
    failures = [line for line in text.splitlines() if not line.startswith(HARMLESS)]
    assert code in (0, 1), code
    assert len(failures) == code, text
    return code, text


# Tables

CELLS = st.one_of(
    st.sampled_from(["", "NA", "0", "1", "2", "-1e308", "1e-320", "inf", "1_0", "0x1", "true"]),
    st.sampled_from(["2024-02-30", "2024-02-29", "0001-01-01", "9999-12-31 23:59", "١٢", "x"]),
    st.floats(allow_nan=True).map(str),
    st.integers(-3, 3).map(str),
    st.text(max_size=6),
)
TASKS = st.sampled_from(["a", "a", "b", "b", "北京", " a ", "", "a\nb", "1.0", "Ω" * 40, "a\0b"])
NUMBERS = st.floats(-1e3, 1e3).map(str)
COLUMNS = {
    "numbers": NUMBERS,
    "whole": st.integers(-3, 3).map(str),
    "words": st.sampled_from(["yes", "no"]),
    "days": st.dates().map(str),
    "gaps": st.one_of(NUMBERS, st.sampled_from(["", "NA"])),
    "anything": CELLS,
}
NAMES = ["task", "y", "u", "v"]
HEADERS = st.one_of(
    st.permutations(NAMES),
    st.lists(st.one_of(st.sampled_from(["task", "y", "u", ""]), st.text(max_size=4)), min_size=4),
).map(lambda names: names[:4])
#: What is odd about a file beside its cells; most often nothing.
ODD = st.sampled_from(
    ["nothing"] * 10 + ["header", "encoding", "line ends", "separator", "changed", "start"]
)
OPTIONS = st.lists(
    st.sampled_from(
        [
            ("--kind", "regression"),
            ("--kind", "classification"),
            ("--max-classes", "3"),
            ("--groups", "u"),
            ("--occasion", "v"),
            ("--features", "u"),
            ("--drop", "u"),
            ("--categories", "u", "v"),
            ("--dates", "u"),
            ("--holdout", "0.3"),
            ("--holdout-after", "2024-01-01"),
            ("--quantiles", "0.1", "0.9"),
        ]
    ),
    max_size=2,
    unique=True,
)


@st.composite
def rows(draw):
    """Draw rows of a task and three columns, each of one kind."""
    n = draw(st.sampled_from([16, 16, 12, 12, 9, 6, 3, 1, 0]))
    task = draw(st.lists(TASKS, min_size=n, max_size=n))
    kinds = [draw(st.sampled_from(sorted(COLUMNS))) for _ in range(3)]
    columns = [draw(st.lists(COLUMNS[kind], min_size=n, max_size=n)) for kind in kinds]
    return list(zip(task, *columns, strict=True))


@st.composite
def csv_files(draw):
    """Draw the bytes of a CSV file, and of some other file that says it is one."""
    odd = draw(ODD)
    file = io.StringIO(newline="")
    end = draw(st.sampled_from(["\n", "\r\n"])) if odd != "line ends" else "\r"
    separator = draw(st.sampled_from(",;\t")) if odd != "separator" else "|"
    writer = csv.writer(file, lineterminator=end, delimiter=separator)
    writer.writerow(draw(HEADERS) if odd == "header" else NAMES)
    writer.writerows(draw(rows()))
    code = (
        draw(st.sampled_from(["utf-8-sig", "utf-16", "latin-1"])) if odd == "encoding" else "utf-8"
    )
    content = file.getvalue().encode(code, "replace")
    if odd == "changed":
        content = changed_bytes(content, draw(st.randoms(use_true_random=False)))
    start = draw(st.sampled_from([b"\0", b"\x89PNG", b'"'])) if odd == "start" else b""
    return start + content


@st.composite
def tables(draw):
    """Draw the name and the content of a table."""
    kind = draw(st.sampled_from(["csv"] * 9 + ["tsv", "csv.gz", "svm", "parquet", "bytes"]))
    if kind == "bytes":
        return draw(st.sampled_from(["t.csv", "t.svm", "t.parquet"])), draw(st.binary(max_size=300))
    if kind == "svm":
        return "t.svm", draw(svmlight_files())
    if kind == "parquet":
        return "t.parquet", draw(parquet_files())
    content = draw(csv_files())
    if kind == "csv.gz":
        content = gzip.compress(content)
        content = content[: draw(st.one_of(st.none(), st.integers(0, len(content))))]
    return f"t.{kind}", content


@st.composite
def svmlight_files(draw):
    """Draw lines such as ``1 qid:2 1:0.5``, some with a fault."""
    numbers = st.one_of(st.integers(-2, 10**12).map(str), CELLS)
    part = st.tuples(numbers, numbers).map(":".join)
    line = st.tuples(numbers, st.sampled_from(["qid:1", "qid:2", ""]), st.lists(part, max_size=3))
    lines = draw(st.lists(line, max_size=8))
    return "\n".join(" ".join([y, qid, *parts]) for y, qid, parts in lines).encode()


@st.composite
def parquet_files(draw):
    """Draw a Parquet file with columns of many types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = draw(st.integers(0, 8))
    kinds = {
        "text": (pa.string(), st.text(max_size=3)),
        "number": (pa.float64(), st.floats()),
        "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
        "truth": (pa.bool_(), st.booleans()),
        "bytes": (pa.binary(), st.binary(max_size=3)),
        "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 3), max_size=2)),
        "struct": (pa.struct([("a", pa.int64())]), st.just({"a": 1})),
        "time": (pa.timestamp("us", tz="UTC"), st.datetimes()),
        "day": (pa.date32(), st.dates()),
        "amount": (pa.decimal128(12, 2), st.decimals(-99, 99, places=2)),
        "none": (pa.null(), st.none()),
    }
    columns = {}
    for name in NAMES:
        kind, values = kinds[draw(st.sampled_from(sorted(kinds)))]
        cells = draw(st.lists(st.one_of(values, values, st.none()), min_size=n, max_size=n))
        columns[name] = pa.array(cells, kind)
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def check_table(folder, name, content, options):
    """Fit a table, and predict and inspect with the model."""
    for path in folder.iterdir():
        path.unlink()
    table, model, page = folder / name, folder / "m.skops", folder / "page.html"
    table.write_bytes(content)
    roles = ("qid", "target") if name.endswith(".svm") else ("task", "y")
    more = [word for option in options for word in option]
    words = ["--task", roles[0], "--target", roles[1], "--out", model]
    code, errors = run("fit", table, *words, *more)
    assert model.exists() == (code == 0)
    if code == 0:
        assert run("predict", model, table, "--out", folder / "p.csv")[0] in (0, 1)
        assert run("inspect", model, "--out", page)[0] == 0
    left = {path.name for path in folder.iterdir()} - {"p.csv", "page.html", "m.skops", name}
    assert not left, left
    return "fitted" if code == 0 else reason(errors)


def reason(errors):
    """Return an error without what differs between examples."""
    last = errors.split("kernelhood: ")[-1].strip()
    return re.sub(r"/\S+/|'[^']*'|\d+", "_", last)[:90]


# Model files


def changed_bytes(content, draw):
    """Return bytes of which a few are changed, left out or put in."""
    found = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(found) + 1)
        match draw.randrange(4):
            case 0:
                del found[place : place + draw.randint(1, 40)]
            case 1:
                found[place:place] = draw.randbytes(draw.randint(1, 8))
            case 2 if place < len(found):
                found[place] ^= 1 << draw.randrange(8)
            case 3:
                found = found[:place] if draw.randrange(4) == 0 else found
    return bytes(found)


#: What a file could name so that reading it runs code, and what is merely wrong.
TYPES = (
    ("os", "system"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("subprocess", "Popen"),
    ("kernelhood.datasets", "fetch"),
    ("kernelhood.kernels.base", "Custom"),
    ("kernelhood.estimators.kernelhood", "KernelhoodRegressor"),
    ("kernelhood.estimators", "METHODS"),
    ("numpy", "load"),
    ("sklearn.pipeline", "Pipeline"),
    ("no_such_module", "x"),
)
VALUES = (None, True, 0, -1, 3, 2**70, 0.5, float("nan"), "", "x", [], {}, [[1]], {"a": {}})


def nodes(tree):
    """Return every dict and list of a JSON tree."""
    found, waiting = [], [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (dict, list)) and one:
            found.append(one)
            waiting.extend(one.values() if isinstance(one, dict) else one)
    return found


def changed_tree(content, draw):
    """Return a JSON document with some entries changed, moved, left out or renamed."""
    tree = json.loads(content)
    for _ in range(draw.randint(1, 3)):
        all_nodes = nodes(tree)
        node = draw.choice(all_nodes)
        key = draw.choice(list(node) if isinstance(node, dict) else range(len(node)))
        typed = [one for one in all_nodes if isinstance(one, dict) and "__class__" in one]
        match draw.randrange(6):
            case 0:
                node[key] = draw.choice(VALUES)
            case 1:
                del node[key]
            case 2:
                other = draw.choice(all_nodes)
                node[key] = json.loads(json.dumps(other))
            case 3 if typed:
                chosen = draw.choice(typed)
                chosen["__module__"], chosen["__class__"] = draw.choice(TYPES)
            case 4 if typed:
                draw.choice(typed)["__loader__"] = draw.choice(typed)["__loader__"]
            case _:
                node[key] = changed_value(node[key], draw)
    return json.dumps(tree).encode()


def changed_value(value, draw):
    """Return something near a JSON value."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, (int, float)):
        return draw.choice([-value, value + 1, value * 1e9, float("inf"), str(value)])
    if isinstance(value, str):
        return draw.choice([value[:-1], value + "x", value.upper(), value.replace("1", "7"), 1])
    return draw.choice(VALUES)


def changed_array(array, draw):
    """Return an array with other numbers, another shape or another type."""
    array, place = array.copy(), draw.randrange(max(array.size, 1))
    match draw.randrange(5):
        case 0:
            return array.astype(draw.choice(["float32", "int64", "complex128", "U3", "?"]))
        case 1:
            return array.reshape(-1)[:place]
        case 2:
            return array[None] if draw.randrange(2) else array.T
        case 3 if array.dtype.kind == "f" and array.size:
            array.reshape(-1)[place] = draw.choice([np.nan, np.inf, -1e300])
        case 4 if array.dtype.kind == "i" and array.size:
            array.reshape(-1)[place] = draw.choice([-1, 2**40, 7])
    return array


def with_array(content, change):
    """Return the bytes of an array file with another array."""
    file = io.BytesIO()
    np.save(file, change(np.load(io.BytesIO(content), allow_pickle=False)), allow_pickle=False)
    return file.getvalue()


def repacked(content, change):
    """Return a model file whose parts are changed by name and content; None leaves one out."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            part = change(name, old.read(name))
            if part is not None:
                new.writestr(name, part)
    return file.getvalue()


def changed_model(content, draw):
    """Return a model file that somebody has changed, most often with checksums that are right."""
    if draw.randrange(8) == 0:
        return changed_bytes(content, draw)
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        names = old.namelist()
    kind = draw.choice(["schema.json", "schema.json", "schema.json", "kernelhood.json", ".npy"])
    chosen = draw.choice([name for name in names if name.endswith(kind)] or ["schema.json"])

    def change(name, part):
        if name != chosen:
            return part
        if draw.randrange(12) == 0:
            return None if draw.randrange(2) else changed_bytes(part, draw)
        if name.endswith(".json"):
            return changed_tree(part, draw)
        try:
            return with_array(part, lambda array: changed_array(array, draw))
        except (ValueError, TypeError):
            return part

    return repacked(content, change)


def make_models(folder):
    """Write the model files that are changed; return their paths and the table they predict."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import kernelhood as kh
    from kernelhood.tables import fit_table

    data = kh.datasets.make_multitask(n_tasks=3, n_samples=12, as_frame=True, random_state=0)
    sky = np.where(data.X.iloc[:, 0] > 0.0, "clear", "rain")
    table = data.X.assign(sky=sky, task=data.task, y=data.y)
    table.to_csv(folder / "table.csv", index=False)
    X, value = data.X, data.X.iloc[:, 0] + 0.1 * data.y
    search = kh.KernelSearchCV(kh.MTONMKLRegressor(kernels="small"), {"C": [1.0, 10.0]}, cv=2)
    joint = kh.MTONMKLClassifier(kernels="small", relation="mixed")
    models = [
        fit_table(table, task="task", target="y"),
        fit_table(table.assign(y=value), task="task", target="y", quantiles=[0.1, 0.9]),
        kh.KernelhoodRegressor(task_column="task").fit(table.drop(columns=["y"]), value),
        search.fit(X, value, task=data.task),
        joint.fit(X, data.y, task=data.task),
        make_pipeline(StandardScaler(), kh.ITLRegressor()).fit(X, value),
    ]
    paths = [folder / f"model_{number}.skops" for number in range(len(models))]
    for model, path in zip(models, paths, strict=True):
        kh.save(model, path)
    return paths, folder / "table.csv"


def check_model(folder, path, table, number, task="task"):
    """Inspect and predict with a changed copy of a model file; `number` seeds the changes."""
    changed = folder / "changed.skops"
    changed.write_bytes(changed_model(path.read_bytes(), random.Random(number)))
    inspected, errors = run("inspect", changed)
    predicted, more = run("predict", changed, table, "--task", task, "--out", folder / "p.csv")
    if inspected == 0 and predicted:
        return f"inspected, not predicted: {reason(more)}"
    return "inspected, predicted" if inspected == 0 else reason(errors)


def limit_memory(gigabytes):
    """Let what asks for more memory fail, on systems that can."""
    with contextlib.suppress(ImportError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (gigabytes * 2**30,) * 2)


class Tally:
    """Counts how examples end, and keeps the first example of every failure."""

    def __init__(self) -> None:
        self.ends, self.failures = Counter(), {}
        self.slowest = (0.0, "")

    def __call__(self, check, *arguments):
        began = time.perf_counter()
        try:
            end = check(*arguments)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            end = f"FAILED {type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
            shown = "".join(traceback.format_exception(error))[-3000:]
            self.failures.setdefault(end, f"{arguments!r}\n{shown}")
        self.ends[end] += 1
        self.slowest = max(self.slowest, (time.perf_counter() - began, end))
        if self.ends.total() % 1000 == 0:
            print(f"{self.ends.total()} examples, {len(self.failures)} failures", flush=True)

    def report(self, what):
        for text in self.failures.values():
            print(text)
        for end, count in self.ends.most_common(20):
            print(f"{count:>7}  {end}")
        failed = sum(self.ends[end] for end in self.failures)
        print(f"{self.ends.total()} {what}, {failed} failed; slowest: {self.slowest[0]:.1f} s")
        return failed > 0


def fuzz(what, examples, start):
    """Run examples and print how they ended; return whether some failed."""
    tally = Tally()
    limits = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if what == "tables":
            drawn = given(tables(), OPTIONS)
            check = drawn(lambda table, options: tally(check_table, folder, *table, options))
        else:
            paths, table = make_models(folder)
            drawn = given(st.sampled_from(paths), st.integers(0, 2**62))
            check = drawn(lambda path, number: tally(check_model, folder, path, table, number))
        with contextlib.suppress(KeyboardInterrupt):  # reports what was done until then
            seed(start)(limits(check))()
    return tally.report(what)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["tables", "models"])
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    limit_memory(8)
    return fuzz(options.what, options.examples, options.seed)


if __name__ == "__main__":
    sys.exit(main())
