"""Pages are short, and written as docs/style.md says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"] + [
    f"docs/{page.name}" for page in sorted(ROOT.glob("docs/*.md"))
]
#: Words of a page, and of all pages together; names and signs of tables count.
MOST, TOTAL = 3_000, 24_000
SHORT = {"README.md": 700, "CHANGELOG.md": 900, "docs/style.md": 300}

#: What is refused, and what to write instead.
HABITS = {
    r"\bwhere (there|it|they|this|that|nothing|nobody|none|no|tasks|rows|columns|one)\b": "if",
    r"(?<!here )\bis no (data frame|table|model|column|number|kernel|date)\b": "is not a",
    r"\b(an earlier|another|the same) (day|hour|minutes)\b": "leave the diary out",
    r"\b(was|were) (run|made|measured) again\b": "leave the diary out",
    r"\bonly judges?\b": "is held out",
    r"\beffects of one size\b": "deviations with one variance",
    r"\btasks on their own\b": "independent tasks",
    r"\bwhat survives\b": "crash-safe",
    r"\b(SVMs|models|one|rounds) a (task|split|fold)\b": "for each",
    r"\bnot (quite )?solved from nothing\b": "without a warm start",
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


def habits_of(text):
    """Return the habits that a text has, each with what to write instead."""
    return {
        found.group(): instead
        for pattern, instead in HABITS.items()
        for found in re.finditer(pattern, text, flags=re.IGNORECASE)
    }


def test_bad_sentences_are_found():
    assert habits_of("A fit where there is no task. X is no data frame.") == {
        "where there": "if",
        "is no data frame": "is not a",
    }
    assert habits_of("There is no table, and the sum where x is one.") == {}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short(page):
    assert words_of(page) <= SHORT.get(page, MOST)


def test_all_pages_together_are_short():
    assert sum(map(words_of, PAGES)) <= TOTAL


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_written_in_plain_words(page):
    assert habits_of(prose_of(page)) == {}


def test_the_glossary_is_short_and_sorted():
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^(.+)\n: ", text, flags=re.MULTILINE)
    assert terms == sorted(terms, key=str.lower)
    assert len(terms) <= 25
