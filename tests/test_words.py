"""Pages are short, and pages, docstrings and messages are written as docs/style.md says."""

import ast
import re
from pathlib import Path

import pytest

import kernelhood

ROOT = Path(__file__).parents[1]
SOURCE = Path(kernelhood.__file__).parent
FILES = [str(file.relative_to(SOURCE)) for file in sorted(SOURCE.rglob("*.py"))]
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"] + [
    f"docs/{page.name}" for page in sorted(ROOT.glob("docs/*.md"))
]
#: Words of a page, and of all pages together; names and signs of tables count.
MOST, TOTAL = 3_000, 24_000
SHORT = {"README.md": 700, "CHANGELOG.md": 900, "docs/style.md": 300}

#: What is refused, and what to write instead. Docstrings speak of places, such as "where it
#: starts", and pages hardly ever.
PLACES = {r"\bwhere (it|they|this|that|no|tasks|rows|columns|one)\b": "if"}
HABITS = {
    r"\b(none|nan|false|[01]|raise|empty|also|even|only|less|fewer) (?-i:where)\b": "if",
    r"\bwhere (there|nothing|nobody|none|no one|neither)\b": "if",
    r"(?<!here )\bis no (data frame|table|text|model|column|number|kernel|date)\b": "is not a",
    r"\bfrom nothing\b": "without a warm start",
    r"\b(an earlier|another|the same) (day|hour|minutes)\b": "leave the diary out",
    r"\b(was|were) (run|made|measured) again\b": "leave the diary out",
    r"\bonly judges?\b": "is held out",
    r"\beffects of one size\b": "deviations with one variance",
    r"\btasks on their own\b": "independent tasks",
    r"\bwhat survives\b": "crash-safe",
    r"\b(SVMs|models|one|rounds|rows|file) a (task|row|split|fold|loss)\b": "for each",
}


def prose_of(page):
    """Return the text of a page without code, formulas and the bad examples of the style page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```|\$\$.*?\$\$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "x", text)
    if page == "docs/style.md":
        text = re.sub(r"^\|[^|]*\|", "|", text, flags=re.MULTILINE)
    return " ".join(text.split())


def words_of(page):
    """Return how many words a page has, as `wc -w` counts them."""
    return len((ROOT / page).read_text(encoding="utf-8").split())


def texts_of(file):
    """Yield the docstrings and messages of a source file, without names and examples."""
    for node in ast.walk(ast.parse((SOURCE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = re.sub(r"^ *(>>>|\.\.\.) .*$", "", node.value, flags=re.MULTILINE)
            yield " ".join(re.sub(r"`[^`]+`", "x", text).split())


def habits_of(text, habits=HABITS):
    """Return the habits that a text has, each with what to write instead."""
    return {
        found.group(): instead
        for pattern, instead in habits.items()
        for found in re.finditer(pattern, text, flags=re.IGNORECASE)
    }


def test_bad_sentences_are_found():
    assert habits_of("A fit where there is no task. X is no data frame.") == {
        "where there": "if",
        "is no data frame": "is not a",
    }
    assert habits_of("There is no table, and the sum where x is one.") == {}
    assert habits_of("The gap; NaN where a task has no rows.") == {"NaN where": "if"}
    assert habits_of("A column where it is known.", PLACES) == {"where it": "if"}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short(page):
    assert words_of(page) <= SHORT.get(page, MOST)


def test_all_pages_together_are_short():
    assert sum(map(words_of, PAGES)) <= TOTAL


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_written_in_plain_words(page):
    assert habits_of(prose_of(page), PLACES | HABITS) == {}


@pytest.mark.parametrize("file", FILES)
def test_docstrings_and_messages_are_written_in_plain_words(file):
    found = {}
    for text in texts_of(file):
        found |= habits_of(text)
    assert found == {}


def test_messages_are_read():
    texts = list(texts_of("estimators/multilevel.py"))
    assert "X holds no rows." in texts
    assert any(text.startswith("Return the model in words") for text in texts)


def test_the_glossary_is_short_and_sorted():
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^(.+)\n: ", text, flags=re.MULTILINE)
    assert terms == sorted(terms, key=str.lower)
    assert len(terms) <= 25
