"""Model files: the same model again, small, and nothing in them is ever run."""

import functools
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelhood as kh
from kernelhood.estimators import METHODS
from kernelhood.tables.model_files import ModelFileError, read_header
from tests.references import make_samples

skops = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def data():
    return make_samples("regression")


def again(model, folder):
    kh.save(model, folder / "model.skops")
    return kh.load(folder / "model.skops")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [0, 1])
def test_every_method_predicts_the_same_again(method, kind, small_bank, tmp_path):
    data = make_samples(["classification", "regression"][kind])
    kernels = None if method == "rpkl" else small_bank
    model = METHODS[method][kind](kernels=kernels).fit(data.X, data.y, task=data.task)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(
        loaded.predict(data.X, task=data.task), model.predict(data.X, task=data.task)
    )
    assert loaded.tasks_ == model.tasks_


@pytest.mark.parametrize(
    "relation",
    [
        "mixed",
        "inputs",
        kh.TaskGroups({"a": 1, "b": 1, "c": 2}),
        kh.TaskGraph([("a", "b"), ("b", "c")]),
        ["mixed", "inputs"],
    ],
    ids=str,
)
def test_every_relation_is_kept(relation, data, small_bank, tmp_path):
    names = dict(zip(np.unique(data.task), "abc", strict=True))
    task = np.array([names[one] for one in data.task])
    model = kh.MTONMKLRegressor(kernels=small_bank, relation=relation, unseen_task="shared")
    model.fit(data.X, data.y, task=task)
    loaded = again(model, tmp_path)
    for asked in (task, np.full(len(task), "new")):
        np.testing.assert_array_equal(
            loaded.predict(data.X, task=asked), model.predict(data.X, task=asked)
        )
    np.testing.assert_array_equal(loaded.task_similarity(), model.task_similarity())
    assert loaded.relation_ == model.relation_


@pytest.mark.parametrize("relation", ["mixed", "independent"])
def test_landmarks_are_kept(relation, data, small_bank, tmp_path):
    model = kh.MTONMKLRegressor(kernels=small_bank, relation=relation, operator=kh.Landmarks(15))
    model.fit(data.X, data.y, task=data.task)
    np.testing.assert_allclose(
        again(model, tmp_path).predict(data.X, task=data.task),
        model.predict(data.X, task=data.task),
        rtol=1e-12,
    )


def test_a_pipeline_is_kept(data, small_bank, tmp_path):
    steps = SimpleImputer(), StandardScaler(), kh.ITLRegressor(kernels=small_bank)
    model = make_pipeline(*steps)
    model.fit(data.X, data.y)
    np.testing.assert_array_equal(again(model, tmp_path).predict(data.X), model.predict(data.X))


def test_only_kernels_with_weight_and_support_vectors_are_in_the_file(data, tmp_path):
    X = np.vstack([data.X] * 3) + np.repeat([0.0, 1e-3, -1e-3], len(data.X))[:, None]
    model = kh.MTMKLRegressor(epsilon=1.0)
    model.fit(X, np.tile(data.y, 3), task=np.tile(data.task, 3))
    loaded = again(model, tmp_path)
    used = np.flatnonzero(model.weights_.any(axis=0))
    assert len(used) < model.weights_.shape[1]
    np.testing.assert_array_equal(loaded.weights_, model.weights_[:, used])
    assert len(loaded.kernels_) == len(used)
    assert sum(map(len, model.support_)) < len(X) / 2
    assert os.path.getsize(tmp_path / "model.skops") < X.nbytes + 20_000


def test_the_header_tells_versions_and_command(data, small_bank, tmp_path):
    model = kh.ITLRegressor(kernels=small_bank).fit(data.X, data.y, task=data.task)
    kh.save(model, tmp_path / "m.skops", command="kernelhood fit t.csv")
    header = read_header(tmp_path / "m.skops")
    assert header.versions["kernelhood"] == kh.__version__
    assert (header.command, header.model) == ("kernelhood fit t.csv", "ITLRegressor")


@pytest.fixture
def saved(data, small_bank, tmp_path):
    model = kh.ITLRegressor(kernels=small_bank).fit(data.X, data.y, task=data.task)
    kh.save(model, tmp_path / "model.skops")
    return tmp_path / "model.skops"


def rewritten(path, change):
    """Write a copy of a model file, each of its parts changed by name and content."""
    out = path.with_name("changed.skops")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return out


@pytest.mark.parametrize(("form", "remedy"), [(99, "update kernelhood"), (2, "fit and save")])
def test_a_file_of_another_form_is_refused(saved, form, remedy):
    def change(name, content):
        if name != "kernelhood.json":
            return content
        header = json.loads(content)
        header["format"], header["versions"]["kernelhood"] = form, "7.0"
        return json.dumps(header)

    with pytest.raises(ModelFileError, match=f"written by kernelhood 7.0 in form {form}.*{remedy}"):
        kh.load(rewritten(saved, change))


def test_types_are_found_where_they_are_now(saved, monkeypatch):
    def change(name, content):
        return content.replace(b"kernelhood.kernels.", b"kernelhood.seeds.")

    path = rewritten(saved, change)
    with pytest.raises(ModelFileError, match="kernelhood.seeds"):
        kh.load(path)
    names = ("bank", "standard", "terms", "inputs", "columns")
    moved = {f"kernelhood.seeds.{one}": f"kernelhood.kernels.{one}" for one in names}
    monkeypatch.setattr("kernelhood.tables.model_files._MOVED", moved)
    assert type(kh.load(path)) is type(kh.load(saved))


def test_a_header_that_cannot_be_unpacked(saved):
    content = bytearray(saved.read_bytes())
    place = content.rindex(b"kernelhood.json", 0, content.rindex(b"PK\x01\x02"))
    content[place + 15 : place + 25] = b"\xff" * 10
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match="is damaged: Error -3"):
        read_header(saved)


class Malicious:
    """Something that writes a file as soon as it is unpickled."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def test_a_malicious_pickle_is_refused_and_does_nothing(tmp_path):
    place = tmp_path / "harm"
    (tmp_path / "model.skops").write_bytes(pickle.dumps(Malicious(place)))
    with pytest.raises(ModelFileError, match="not a model of kernelhood but a pickle"):
        kh.load(tmp_path / "model.skops")
    assert not place.exists()


def with_header(content, saved):
    """Give the bytes of any skops file the header of a model of this library."""
    file = io.BytesIO(content)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(file, "a") as new:
        new.writestr("kernelhood.json", old.read("kernelhood.json"))
    return file.getvalue()


def test_a_malicious_skops_file_is_refused_by_the_name_of_its_type(saved, tmp_path):
    place = tmp_path / "harm"
    content = skops.dumps(functools.partial(os.mkdir, str(place)))
    path = tmp_path / "bad.skops"
    path.write_bytes(with_header(content, saved))
    with pytest.raises(ModelFileError, match=r"refused: it holds .*(posix|nt)\.mkdir"):
        kh.load(path)
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="but a skops file of something else"):
        kh.load(path)
    assert not place.exists()


def test_a_type_changed_inside_a_model_is_refused_by_its_name(saved, tmp_path):
    place = tmp_path / "harm"

    def change(name, content):
        if name != "schema.json":
            return content
        text = content.decode()
        assert '"Gaussian"' in text
        text = text.replace('"kernelhood.kernels.standard"', '"subprocess"')
        return text.replace('"Gaussian"', '"Popen"')

    with pytest.raises(ModelFileError, match=r"it holds .*subprocess\.Popen"):
        kh.load(rewritten(saved, change))
    assert not place.exists()


def test_functions_of_this_library_are_not_trusted(saved, tmp_path):
    content = skops.dumps(functools.partial(kh.datasets.fetch, "letter"))
    (tmp_path / "bad.skops").write_bytes(with_header(content, saved))
    with pytest.raises(ModelFileError, match=r"it holds .*datasets\._files\.fetch"):
        kh.load(tmp_path / "bad.skops")


@pytest.mark.parametrize("length", [0, 10, 1000, -200])
def test_a_damaged_file_is_refused(saved, length):
    content = saved.read_bytes()
    saved.write_bytes(content[:length])
    with pytest.raises(ModelFileError, match="model.skops is (not a model|damaged)"):
        kh.load(saved)


def test_schemas_that_make_no_sense_are_refused(saved):
    for text in (b"{}", b"[]", b"nonsense", b'{"__loader__": "ObjectNode"}'):
        path = rewritten(saved, lambda n, c, text=text: text if n == "schema.json" else c)
        with pytest.raises(ModelFileError, match="is damaged"):
            kh.load(path)


def test_what_is_no_model_is_not_saved(data, small_bank, tmp_path):
    search = kh.KernelSearchCV(kh.ITLRegressor(), {"C": [1.0]}, cv=2, refit=False)
    search.fit(data.X, data.y, task=data.task)
    for nothing in (kh.ITLRegressor(), StandardScaler().fit(data.X), search):
        with pytest.raises(ValueError, match="must be a fitted estimator or search of kernelhood"):
            kh.save(nothing, tmp_path / "m.skops")

    def my_kernel(X, Z):
        return X @ Z.T

    model = kh.ITLRegressor(kernels=[my_kernel]).fit(data.X, data.y)
    with pytest.raises(ValueError, match="the function 'my_kernel': a model file carries no code"):
        kh.save(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []
