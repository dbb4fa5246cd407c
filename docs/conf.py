"""The documentation site: `make docs`. Built by Sphinx from these pages and the docstrings, without a network; what is
linked and is not there is an error (docs/decisions/0074)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "site"))

import thalweg

project = "Thalweg"
author = "the authors of Thalweg"
version = release = thalweg.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "commands", "docstrings"]
exclude_patterns = ["site"]
html_title = f"Thalweg {version}"

# Nothing from elsewhere: fonts, scripts and styles are those that the theme brings.
html_theme = "furo"
html_static_path = ["site/static"]
html_css_files = ["thalweg.css"]
html_copy_source = False
html_show_sourcelink = False

nitpicky = True
# In annotations of docstrings: what is not Thalweg's has no page here.
nitpick_ignore_regex = [(r"py:.*", r"(?!thalweg(\.[A-Z]|$)).*")]
default_role = "code"
autodoc_class_signature = "separated"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the tables of parameters say in words what is meant
autodoc_default_options = {"members": True, "inherited-members": False, "undoc-members": True}
python_use_unqualified_type_names = True
python_display_short_literal_types = True
python_maximum_signature_line_length = 80

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
# Notebooks are run whenever the site is built, and an error in one is an error of the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True
nb_ipywidgets_js = {}
