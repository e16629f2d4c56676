import gzip
import hashlib
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pooch
import pytest

from kernelhood.cli.data import report_check, report_fetch, report_list
from kernelhood.datasets import FetchError, check, fetch
from kernelhood.datasets._files import REGISTRY, DataFile, DataSet

GOOD = b"all is well\n" * 1000
SHA256 = hashlib.sha256(GOOD).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serve a good, a damaged, a slow, a cut off and a missing file."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/there/missing":
            self.send_error(404)
            return
        if self.path == "/there/slow":
            self.server.closing.wait(5)
            return
        if self.path == "/there/flaky" and len(self.server.asked) == 1:
            self.send_error(503)
            return
        body = GOOD.replace(b"well", b"hell") if self.path == "/there/damaged" else GOOD
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:50] if self.path == "/there/cut" else body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.closing = [], threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def get(server, tmp_path):
    """Return a function that fetches one file of the given name from the server."""

    def run(name, *, address=True, registry=None, **arguments):
        file = DataFile("file.txt", SHA256, f"there/{name}" if address else None, gzip_too=True)
        registry = {"tiny": DataSet("folder", "a tiny set", "http://example.org", (file,))}
        options = {"retries": 0, "timeout": 5, "progressbar": False, **arguments}
        url = f"http://127.0.0.1:{server.server_port}"
        return fetch("tiny", tmp_path, base_url=url, registry=registry, **options)

    return run


@pytest.fixture
def place(tmp_path):
    return tmp_path / "folder" / "file.txt"


def everything_below(path):
    return [p for p in path.rglob("*") if p.is_file()]


def test_good_file_arrives_once(get, server, place, tmp_path):
    assert [status.state for status in get("good")] == ["fetched"]
    assert place.read_bytes() == GOOD
    assert everything_below(tmp_path) == [place]
    assert [status.state for status in get("good")] == ["ok"]
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("damaged", "hash"),
        ("missing", "404"),
        ("cut", "IncompleteRead|hash"),
        ("slow", "timed out"),
    ],
)
def test_failure_is_clear_and_leaves_nothing(get, name, reason, tmp_path, place):
    start = time.monotonic()
    with pytest.raises(FetchError, match=reason) as caught:
        get(name, timeout=0.3)
    assert time.monotonic() - start < 4
    assert f"/there/{name} was tried once" in str(caught.value)
    assert f"{place} was not written" in str(caught.value)
    assert everything_below(tmp_path) == []


def test_failure_is_tried_again(get, server, place):
    assert get("flaky", retries=1)[0].good
    assert place.read_bytes() == GOOD
    assert len(server.asked) == 2


def test_attempts_have_an_end(get, server):
    with pytest.raises(FetchError, match="tried 2 times"):
        get("missing", retries=1)
    assert len(server.asked) == 2


def test_file_that_differs_is_replaced_only_by_a_good_one(get, place):
    place.parent.mkdir()
    place.write_text("mine")
    with pytest.raises(FetchError):
        get("damaged")
    assert place.read_text() == "mine"
    assert get("good")[0].state == "fetched"
    assert place.read_bytes() == GOOD


def test_gzipped_file_counts_if_its_content_is_right(get, server, place):
    place.parent.mkdir()
    packed = place.with_suffix(".txt.gz")
    packed.write_bytes(gzip.compress(GOOD, mtime=5))
    assert get("good")[0].state == "ok"
    assert not server.asked
    # The plain file that replaces a damaged gzip file is the one that loaders look for first.
    packed.write_bytes(gzip.compress(GOOD)[:-9])
    assert get("good")[0].path == place


def test_file_without_address_is_left_to_the_user(get, server):
    assert get("good", address=False)[0].state == "by hand"
    assert not server.asked


def test_logging_of_pooch_is_left_as_it_was(get):
    logger = pooch.get_logger()
    before = logger.level
    get("good")
    assert logger.level == before


def test_progress_bar_is_shown(get, capsys):
    get("good", progressbar=True)
    assert "100%" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["pooch", "tqdm"])
def test_without_the_extra_it_is_named(get, monkeypatch, module, tmp_path):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"pip install 'kernelhood\[data\]'"):
        get("good", progressbar=True)
    assert everything_below(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "name"),
    [({"retries": -1}, "retries"), ({"timeout": 0}, "timeout"), ({"timeout": None}, "timeout")],
)
def test_bad_arguments_are_named(get, arguments, name):
    with pytest.raises((TypeError, ValueError), match=name):
        get("good", **arguments)


def test_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="name='mnist' .* 'landmine', 'letter'"):
        fetch("mnist")
    with pytest.raises(ValueError, match="'spam'"):
        check("mnist")


def test_reports(tmp_path, place, server):
    files = (
        DataFile("file.txt", SHA256, "there/good"),
        DataFile("other.txt", SHA256, None, gzip_too=True),
        DataFile("third.txt", SHA256, None),
    )
    registry = {"tiny": DataSet("folder", "a tiny set", "http://example.org/page", files)}
    assert "0 of 3 files" in report_list(tmp_path, registry=registry).text
    missing = report_check("tiny", tmp_path, registry=registry)
    assert not missing.good
    assert missing.text.count("missing  ") == 3
    assert "kernelhood data fetch tiny" in missing.text

    url = f"http://127.0.0.1:{server.server_port}/"
    arguments = {"base_url": url, "registry": registry, "progressbar": False}
    fetched = report_fetch("tiny", tmp_path, **arguments)
    assert not fetched.good
    for text in (f"fetched  {place}", "http://example.org/page", SHA256, "other.txt.gz"):
        assert text in fetched.text
    place.write_text("changed")
    (place.parent / "other.txt.gz").write_bytes(b"damaged")
    text = report_check("tiny", tmp_path, registry=registry).text
    assert text.count("differs  ") == 2
    assert f"{place}: sha256 of the content should be {SHA256}" in text
    for name in ("other.txt", "third.txt"):
        (place.parent / name).write_bytes(GOOD)
    assert report_fetch("tiny", tmp_path, **arguments).good
    assert report_check("tiny", tmp_path, registry=registry).good


def test_report_of_a_failure_says_what_to_do_for_each_file(tmp_path, server, monkeypatch):
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    files = (
        DataFile("file.txt", SHA256, "there/missing"),
        DataFile("other.txt", SHA256, None),
    )
    registry = {"tiny": DataSet("folder", "a tiny set", "http://example.org/page", files)}
    url = f"http://127.0.0.1:{server.server_port}"
    report = report_fetch("tiny", tmp_path, base_url=url, registry=registry, progressbar=False)
    assert not report.good
    assert "there/missing was tried 4 times" in report.text
    assert "To get file.txt yourself:" in report.text
    assert "To get other.txt yourself (no address" in report.text


def test_registry_is_sound():
    for dataset in REGISTRY.values():
        for file in dataset.files:
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.address is None or not file.address.startswith("/")
            assert "/" not in file.name
    names = [file.name for dataset in REGISTRY.values() for file in dataset.files]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", REGISTRY)
def test_real_files_have_their_checksums(real_home, name):
    states = {status.path.name: status.state for status in check(name, real_home)}
    assert set(states.values()) == {"ok"}, states
