"""A figure as SVG that stands in a page: no style, no script, nothing loaded, identifiers of its
own, colours that follow the page.
"""

import io
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.figure import Figure

from riskweighted.plots.style import MULTIPLES

__all__ = ["DARK", "dark_style", "inline_svg"]

_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_DROPPED = ("metadata", "style", "title")
_DECIMALS = re.compile(r"-?\d+\.\d+")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_MARGIN = 3  # points about a panel that is shown alone
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")

# What a colour becomes on a dark page; those that are absent, such as colour maps, stay.
DARK: Mapping[str, str] = MappingProxyType(
    {
        "#000000": "#eceff1",
        "#ffffff": "#1d2126",
        "#4d4d4d": "#c3cad1",
        "#888888": "#8e979f",
        "#bbbbbb": "#5d666f",
        "#cccccc": "#4b545d",
        "#dddddd": "#3a4149",
        "#0072b2": "#4fb3f0",
        "#d55e00": "#ff8f3d",
        "#009e73": "#35cfa2",
        "#882255": "#e57fb4",
        "#999933": "#c9c95a",
        "#332288": "#9d8ff0",
        "#117733": "#5cc07c",
        "#aa4499": "#e08bd3",
        "#cc6677": "#f0919f",
    }
)


def dark_style() -> str:
    """The rules of a style sheet that turn the figures of a page dark; a printed page is light."""
    rules = " ".join(f"--figure-{colour[1:]}: {dark};" for colour, dark in DARK.items())
    return f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {rules} }} }}\n"


def inline_svg(figure: Figure, key: str, alternative: str) -> str:
    """A figure as an SVG element of a page.

    Numbers have 5 digits at most, so none has those of a confidential value; letters are drawn, not
    written. `key` begins every identifier, and `alternative` says what is seen. Small multiples
    are followed by each of their panels once more, which a narrow page stacks.
    """
    out = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": key, "svg.fonttype": "path", "svg.image_inline": True}):
        figure.savefig(
            out,
            format="svg",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    root = ElementTree.fromstring(out.getvalue())
    for parent in root.iter():
        for child in [node for node in parent if node.tag.removeprefix(_SVG) in _DROPPED]:
            parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = {name: _value(name, text, key) for name, text in _attributes(element)}
    # Black is what SVG paints where nothing is said, and what Matplotlib leaves unsaid.
    told = {
        "role": "img",
        "aria-label": alternative,
        "fill": _coloured("#000000"),
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
    }
    root.attrib = {"viewBox": root.attrib["viewBox"], "width": root.attrib["width"], **told}
    parts = [] if figure.get_label() != MULTIPLES else _parts(figure, key)
    if parts:
        root.attrib["class"] = "whole"
        drawing = ElementTree.Element("g", {"id": f"{key}-drawing"})
        drawing.extend(list(root))
        root[:] = [drawing]
    return "".join(ElementTree.tostring(each, encoding="unicode") for each in (root, *parts))


def _parts(figure: Figure, key: str) -> list[ElementTree.Element]:
    """The remark, and every panel of a drawn figure as a view of the whole drawing."""
    parts, height = [], 72 * figure.get_figheight()
    if figure.get_suptitle():
        remark = ElementTree.Element("p", {"class": "part note", "aria-hidden": "true"})
        remark.text = " ".join(figure.get_suptitle().split()).replace("\\$", "$")
        parts.append(remark)
    for ax in figure.axes:
        box = ax.get_tightbbox()
        if box is None:
            continue
        left, bottom, right, top = (72 / figure.dpi * end for end in box.extents)
        view = (left - _MARGIN, height - top - _MARGIN, right - left, top - bottom)
        sizes = [*view[:2], *(length + 2 * _MARGIN for length in view[2:])]
        part = ElementTree.Element(
            "svg",
            {
                "viewBox": " ".join(f"{size:.0f}" for size in sizes),
                "class": "part",
                "aria-hidden": "true",
                "fill": _coloured("#000000"),
                "stroke-linejoin": "round",
                "stroke-linecap": "butt",
            },
        )
        ElementTree.SubElement(part, "use", {"href": f"#{key}-drawing"})
        parts.append(part)
    return parts


def _attributes(element: ElementTree.Element) -> list[tuple[str, str]]:
    """The attributes of an element, what stands in its style as attributes too, which a page may
    have that forbids styles.
    """
    attributes = {
        name.replace(_XLINK, ""): text for name, text in element.attrib.items() if name != "style"
    }
    for rule in element.attrib.get("style", "").split(";"):
        name, _, text = rule.partition(":")
        if text:
            attributes[name.strip()] = text.strip()
    return [
        (name, text)
        for name, text in attributes.items()
        if name not in ("version", "image-rendering", "font")
    ]


def _value(name: str, text: str, key: str) -> str:
    """An attribute as it stands in the page."""
    if name == "id":
        return f"{key}-{text}"
    if name == "href":
        return f"#{key}-{text[1:]}" if text.startswith("#") else "".join(text.split())
    if name in ("fill", "stroke"):
        text = _coloured(text)
    text = _REFERENCE.sub(lambda match: f"url(#{key}-{match[1]})", text)
    return text if name == "viewBox" else _DECIMALS.sub(lambda match: _short(match[0]), text)


def _short(number: str) -> str:
    """To 2 decimals, 4 digits below 0.1 and 5 at most: a scale of letters is small, and 6 digits
    could be those of a record.
    """
    value = float(number)
    if abs(value) < 0.1:
        return f"{value:.4f}".rstrip("0").rstrip(".") or "0"
    return f"{value:.{max(0, min(2, 4 - int(math.log10(abs(value)))))}f}"


def _coloured(text: str) -> str:
    """A colour that the page can turn."""
    colour = text.lower()
    return (
        f"var(--figure-{colour[1:]}, {colour})"
        if _COLOUR.fullmatch(text) and colour in DARK
        else text
    )
