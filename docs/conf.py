"""The site of all pages, the interface from Python and the examples, by Sphinx: CONTRIBUTING.md says how it is made.

Its sources are the Markdown files as they stand. Equations are MathML, and nothing in it needs a network.
"""

import re
import shutil
import sys
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
import engine  # noqa: E402

project, html_title, html_theme = "Catena", "Catena", "furo"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/api/*.md"]
exclude_patterns = [".*", "build", "dist", "app", "engine", "resources", "robots", "tests"]
html_copy_source = html_show_copyright = html_show_sphinx = False
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
default_role = "py:obj"
autodoc_default_options = {"members": True}
autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
PAGES = {
    "Use": "docs/installing docs/window docs/shell docs/python docs/examples docs/studies docs/live docs/papers",
    "Understand": "docs/scheme docs/scheme_gpu docs/contact docs/contact_solver "
    "docs/contact_solver_gpu docs/collision docs/step docs/lessons",
    "Measured": "docs/measured docs/measured_algorithms docs/measured_contact docs/measured_kernels docs/robustness",
    "Change": "CONTRIBUTING docs/architecture docs/extending docs/testing docs/kernels docs/friction CHANGELOG",
    "Interface": "docs/api/engine docs/api/robots docs/api/dynamics docs/api/simulation docs/api/contact "
    "docs/api/control docs/api/recording docs/api/studies docs/api/comparing docs/api/window",
}
"""The tree of the site; examples and names of the interface are in lists on their pages."""
FONTS = "font-family: 'Latin Modern Math', 'STIX Two Math', 'Cambria Math', 'DejaVu Math TeX Gyre', math"


def complete(_app, docname, content):
    """What a page of the site has beside its file: titles in links, the tree, the texts of examples and docstrings."""
    text = re.sub(r"\[(?:docs/)?\w+\.md\]\(", "[](", content[0])
    if docname != "docs/examples":
        text = re.sub(r"\]\(examples/(\w+)\.py\)", r"](#example-\1)", text)
    if docname == "README":
        for title, names in PAGES.items():
            tree = "\n".join(f"/{name}" for name in names.split())
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{tree}\n```\n"
    elif docname == "docs/examples":
        text = re.sub(r"^- \[(.*?)\]\((.*?)\)$", example, text, flags=re.MULTILINE)
    elif docname.startswith("docs/api/"):
        text = re.sub(r"^`\w+`(,\s`\w+`)*$", docstrings, text, flags=re.MULTILINE)
    content[0] = text


def example(found):
    """An example of the list, without its docstring, which is the title, and with its picture where it draws."""
    title, name = found[1], Path(found[2])
    text = f"(example-{name.stem})=\n\n### {title}\n\n```{{literalinclude}} {name.as_posix()}\n:lines: 3-\n```\n"
    picture = name.with_suffix(".webp")
    return f"{text}\n![{title}]({picture.as_posix()})\n" if (ROOT / "docs" / picture).exists() else text


def docstrings(found):
    """Those of a list of names, and of the methods of classes."""
    names = re.findall(r"\w+", found[0])
    kinds = ["class" if isinstance(getattr(engine, name), type) else "function" for name in names]
    both = zip(kinds, names, strict=True)
    return "\n".join(f"```{{eval-rst}}\n.. auto{kind}:: engine.{name}\n```" for kind, name in both)


def leave_out(_app, _what, _name, obj, skip, _options):
    """Fields of named tuples whose docstring is none."""
    return skip or (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")


def mathml(node):
    """An equation as MathML, and its number."""
    text, _, number = node.astext().strip().partition(r"\tag{")
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    return convert(text, display=display).replace("<math", f'<math style="{FONTS}"', 1), number.rstrip("}")


def inline_equation(self, node):
    """An equation in a line."""
    self.body.append(mathml(node)[0])
    raise nodes.SkipNode


def equation(self, node):
    """An equation that stands alone, with its number at the right."""
    text, number = mathml(node)
    self.body.append(f"<p>{f'<span style=float:right>({number})</span>' if number else ''}{text}</p>")
    raise nodes.SkipNode


def front_page(app, fault):
    """The file that browsers ask a folder for."""
    if fault is None and app.builder.name == "html":
        shutil.copyfile(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))


def setup(app):
    """Enter all that with Sphinx."""
    app.add_html_math_renderer("mathml", (inline_equation, None), (equation, None))
    app.connect("source-read", complete)
    app.connect("autodoc-skip-member", leave_out)
    app.connect("build-finished", front_page)
