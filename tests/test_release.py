"""What is published says the same everywhere, and the workflows run what somebody has read."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import kernelhood
from tests.release_check import IN_SDIST, SMOKE, CheckFailedError, check_versions

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_place_names_the_same_version():
    assert check_versions(None) == kernelhood.__version__


def test_a_tag_needs_a_finished_changelog():
    with pytest.raises(CheckFailedError, match="the tag says 99"):
        check_versions("v99")


def test_what_a_release_is_checked_by_is_there():
    assert [name for name in (*SMOKE, *IN_SDIST) if not (ROOT / name).exists()] == []


def test_the_recipe_needs_what_the_package_needs():
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.split("  run:\n")[1].split("  #")[0]
    named = set(re.findall(r"- ([\w-]+) >=([\d.]+)", run))
    assert named == {tuple(one.split(">=")) for one in PROJECT["dependencies"]}


@pytest.mark.skipif(not WORKFLOWS, reason="the sdist has no workflows")
def test_actions_are_pinned_and_permissions_are_small():
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        for used in re.findall(r"uses: (.+)", text):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", used), (path.name, used)
        assert "\npermissions:\n  contents: read\n" in text, path.name
        assert "pull_request_target" not in text, path.name
        assert text.count(": write") == {"docs.yml": 1, "release.yml": 1}.get(path.name, 0), (
            path.name
        )


@pytest.mark.skipif(not WORKFLOWS, reason="the sdist has no workflows")
def test_every_python_that_is_promised_is_tested():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    tested = re.search(r"python: \[(.+)\]", text)[1].replace('"', "").split(", ")
    promised = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if " :: 3." in one]
    assert tested == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_list_of_versions(tmp_path):
    spec = importlib.util.spec_from_file_location("versions", ROOT / "docs" / "versions.py")
    versions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(versions)
    found = versions.entries(["dev", "0.9.0", "0.10.0", ".git", "img"], "https://docs.example/")
    assert [one["version"] for one in found] == ["0.10.0", "0.9.0", "dev"]
    assert [one.get("preferred", False) for one in found] == [True, False, False]
    assert found[0]["url"] == "https://docs.example/0.10.0/"
    assert versions.entries(["dev"], "https://docs.example")[0]["preferred"]
    for name in ("dev", "1.0"):
        (tmp_path / name).mkdir()
    versions.main(tmp_path, "https://docs.example")
    assert "url=1.0/" in (tmp_path / "index.html").read_text(encoding="utf-8")
