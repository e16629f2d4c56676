"""The places of a source at which one token can be changed, and what can stand there instead."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

#: A comparison becomes its opposite. With `<=` for `<` floating point hardly ever differs.
SWAPS = "< >=, > <=, == !=, + -, * /, += -=, *= /=, and or"
NAMES = "min max, minimum maximum, fmin fmax, argmin argmax, nanmin nanmax, any all"


def both_ways(pairs: str) -> dict[str, list[str]]:
    """Return what stands for each word of a list of pairs."""
    both: dict[str, list[str]] = {}
    for left, right in (pair.split() for pair in pairs.split(", ")):
        both.setdefault(left, []).append(right)
        both.setdefault(right, []).append(left)
    return both


class Mutant(NamedTuple):
    """A place in a file, by characters, and what stands there instead."""

    file: str
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """Return the source with the change."""
        return source[: self.start] + self.text + source[self.end :]

    def described(self, source: str) -> str:
        """Return file, line, and the line before and after."""
        line = source.count("\n", 0, self.start)
        before, after = (text.splitlines()[line].strip() for text in (source, self.applied(source)))
        return f"{self.file}:{line + 1}: {before}  ->  {after}"


def is_left_out(node: ast.AST) -> bool:
    """Return whether a node is text or types, or does not matter for what is computed."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(name=name):
            return "repr" in name or "plot" in name or name == "__str__"
        case ast.If(test=test):
            return "TYPE_CHECKING" in ast.unparse(test)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in ("warn", "print", "TypeVar")
        case ast.keyword(arg="strict"):  # a check of lengths that are equal
            return True
    return False


def nodes_that_matter(node: ast.AST, defaults: bool, top: bool = True) -> Iterator[ast.AST]:
    """Yield the nodes below one, with the default arguments of `__init__` or without them."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        if field == "args" and not defaults and getattr(node, "name", "") == "__init__":
            continue
        for child in value if isinstance(value, list) else [value]:
            targets = getattr(child, "targets", [getattr(child, "target", None)])
            is_setting = top and any(getattr(one, "id", "").isupper() for one in targets)
            if isinstance(child, ast.AST) and not is_setting and not is_left_out(child):
                yield child
                yield from nodes_that_matter(child, defaults, top=False)


def places(
    source: str, defaults: bool, numbers: bool = False
) -> Iterator[tuple[int, int, list[str]]]:
    """Yield where each place starts and ends, and what can stand there instead."""
    swaps, names = both_ways(SWAPS), both_ways(NAMES)
    lines = source.splitlines(keepends=True)
    starts = [sum(map(len, lines[:row])) for row in range(len(lines) + 1)]
    tokens = [
        (starts[one.start[0] - 1] + one.start[1], one.string)
        for one in tokenize.generate_tokens(io.StringIO(source).readline)
        if one.string in swaps
    ]

    def at(row: int, column: int) -> int:  # `ast` counts the bytes of a line
        return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

    for node in nodes_that_matter(ast.parse(source), defaults):
        sides: list[ast.expr] = []
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
            case ast.BinOp(left=left, right=right) | ast.AugAssign(target=left, value=right):
                sides = [left, right]
            case ast.BoolOp(values=sides):
                pass
            case ast.UnaryOp(op=ast.USub() | ast.Not()):
                start = at(node.lineno, node.col_offset)
                yield start, start + (1 if isinstance(node.op, ast.USub) else 4), [""]
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in names:
                end = at(node.func.end_lineno, node.func.end_col_offset)
                yield end - len(name), end, names[name]
            case ast.Constant(value=bool() as value):
                start = at(node.lineno, node.col_offset)
                yield start, at(node.end_lineno, node.end_col_offset), [repr(not value)]
            case ast.Constant(value=int() | float() as value) if numbers and abs(value) <= 100:
                # Twice a tiny tolerance is as good a tolerance; one more is none.
                changes = [value + 1] if abs(value) < 1e-3 else [value + 1, 2 * value]
                start = at(node.lineno, node.col_offset)
                yield start, at(node.end_lineno, node.end_col_offset), [repr(x) for x in changes]
        if any(isinstance(getattr(one, "value", None), str) for one in sides):
            sides = sides if isinstance(node, ast.Compare) else []
        for left, right in pairwise(sides):
            low, high = (left.end_lineno, left.end_col_offset), (right.lineno, right.col_offset)
            for start, text in tokens:
                if at(*low) <= start < at(*high):
                    yield start, start + len(text), swaps[text]
