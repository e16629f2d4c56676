"""Settings of Sphinx. Nothing is downloaded, neither during the build nor by the built pages."""

import importlib.util
import os
import shutil
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # gallery_pictures.py

project = "kernelhood"
author = "The kernelhood developers"
copyright = author
version = release = installed_version("kernelhood")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "**/GALLERY_HEADER.rst", "*.py"]

smartquotes = False
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_update_mathjax = False  # its settings are those of MathJax 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"
autodoc_preserve_defaults = True  # names of long defaults, not what they hold
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

# A new example is one file in examples/gallery; its figure is the variable `figure`.
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "image_scrapers": ("gallery_pictures",),
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("kernelhood",),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10**6,
    "thumbnail_size": (640, 448),
    "reset_modules": (),
    "remove_config_comments": True,
    "write_computation_times": False,
    "copyfile_regex": "",
}

mathjax_path = "mathjax/MathJax.js?config=TeX-AMS-MML_HTMLorMML-full"
mathjax2_config = {
    "tex2jax": {
        "inlineMath": [["\\(", "\\)"]],
        "displayMath": [["\\[", "\\]"]],
        "processClass": "math",
        "ignoreClass": "tex2jax_ignore|body",
    },
    "HTML-CSS": {
        "availableFonts": [],
        "webFont": "STIX-Web",
        "imageFont": None,
        "scale": 92,
    },
    "messageStyle": "none",
    "showMathMenu": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"kernelhood {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "kernelhood"},
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
# Pages that are published under an address offer other versions; those on disk fetch nothing.
# docs/versions.py writes switcher.json, by which the theme also warns of old and unreleased ones.
if address := os.environ.get("DOCS_URL"):
    html_theme_options |= {
        "switcher": {
            "json_url": f"{address}/switcher.json",
            "version_match": version if os.environ.get("GITHUB_REF_TYPE") == "tag" else "dev",
        },
        "check_switcher": False,
        "navbar_end": ["version-switcher", "theme-switcher"],
        "show_version_warning_banner": True,
    }
html_sidebars = {"index": [], "changelog": [], "citing": []}


def list_more_pages(app, docname, content):
    """Put pages that no other list names into the user guide: a new page is one file."""
    if docname == "user_guide":
        lists = [HERE / f"{name}.md" for name in ("index", "start", "user_guide", "background")]
        named = set("\n".join(path.read_text("utf-8") for path in lists).split("\n"))
        pages = sorted(path.stem for path in HERE.glob("*.md"))
        more = [name for name in pages if name not in named | {"index"}]
        content[0] = content[0].replace("MORE PAGES", "\n".join(more))


def escape_norms(app, what, name, obj, options, lines):
    """Escape the bars of |x| outside literals, which reStructuredText would take for references."""
    math = None
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if math is not None and line.strip() and indent <= math:
            math = None
        if line.lstrip().startswith(".. math::"):
            math = indent
        if math is None and not line.lstrip().startswith((">>>", "...")):
            parts = line.split("``")
            parts[::2] = [escape_outside_math(part) for part in parts[::2]]
            lines[number] = "``".join(parts)


def escape_outside_math(text):
    """Escape bars in a text that holds no literals, but not those of formulas."""
    parts = text.split(":math:`")
    kept = [part.partition("`") for part in parts[1:]]
    return parts[0].replace("|", r"\|") + "".join(
        f":math:`{formula}{end}" + rest.replace("|", r"\|") for formula, end, rest in kept
    )


def copy_mathjax(app, error):
    """Put MathJax, which a package brings along, beside the pages."""
    if error is None and app.builder.format == "html":
        found = importlib.util.find_spec("jupyter_server_mathjax").submodule_search_locations[0]
        target = Path(app.outdir) / "_static" / "mathjax"
        shutil.copytree(Path(found) / "static", target, dirs_exist_ok=True)


def skip_fields(app, what, name, obj, skip, options):
    """Leave out the fields of named tuples, which "Attributes" describes."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app):
    """Register the hooks; the one for docstrings before numpydoc's."""
    app.connect("autodoc-process-docstring", escape_norms, priority=100)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("source-read", list_more_pages)
    app.connect("build-finished", copy_mathjax)
