"""Settings of Sphinx. Nothing is downloaded during the build."""

from importlib.metadata import version as installed_version

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
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "make_dataset_pictures.py"]

smartquotes = False
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"kernelhood {version}"


def escape_norms(app, what, name, obj, options, lines):
    """Escape the bars of |x| outside literals, which reStructuredText would take for references."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("``")
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[number] = "``".join(parts)


def setup(app):
    """Register the hook, before numpydoc's."""
    app.connect("autodoc-process-docstring", escape_norms, priority=100)
