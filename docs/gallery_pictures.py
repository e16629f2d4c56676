"""How sphinx-gallery finds the picture of an example: the figure in the variable `figure`."""

from sphinx_gallery.scrapers import figure_rst

DPI = 110


def _get_sg_image_scraper():
    return save_figure


def save_figure(block, block_vars, gallery_conf):
    """Save the figure that a block of an example leaves behind; return how to show it."""
    figure = block_vars["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=DPI, bbox_inches="tight")
    return figure_rst([path], gallery_conf["src_dir"])
