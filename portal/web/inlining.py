"""A tag with which a template has another one written into it when it is compiled.

``{% inline "pieces/_moment.html" %}`` does what ``{% include %}`` does, and costs nothing when a page is
drawn. To include a piece in each row of a long list, or to call a macro for it, costs more than to draw it.
So the markup of a row stands in pieces, each written once, and the list is one flat template all the same.

The piece sees the names of the place where it stands, and what it sets stays set.
"""

from __future__ import annotations

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser


class InlineExtension(Extension):
    """Knows the tag."""

    tags = {"inline"}  # noqa: RUF012 - declared so by the base

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return what the named template consists of."""
        next(parser.stream)
        name = parser.stream.expect("string").value
        assert self.environment.loader is not None  # noqa: S101 - Flask always gives it one
        source, path, _ = self.environment.loader.get_source(self.environment, name)
        return self.environment._parse(source, name, path).body  # noqa: SLF001 - `parse` tells no name in errors
