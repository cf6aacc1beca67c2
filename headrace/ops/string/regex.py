"""Regular expressions in RE2's syntax, run by Python's."""

from __future__ import annotations

import functools
import re

import numpy as np

from headrace.graph.tensor import Tensor
from headrace.opdef import export, op, raw
from headrace.opdef.strings import attr_text, each, flat, invalid, text
from headrace.shapes import unchanged

StaticRegexReplace = op("""
    StaticRegexReplace(input: string) -> (output: string)
      pattern: string
      rewrite: string
      replace_global: bool = true

    Replaces what matches a fixed pattern.
""", shape=unchanged)  # fmt: skip

RegexReplace = op("""
    RegexReplace(input: string, pattern: string, rewrite: string) -> (output: string)
      replace_global: bool = true

    Replaces what matches a pattern.
""", grad=None)  # fmt: skip

StaticRegexFullMatch = op("""
    StaticRegexFullMatch(input: string) -> (output: bool)
      pattern: string

    Whether a fixed pattern matches the whole of each string.
""", shape=unchanged)  # fmt: skip

RegexFullMatch = op("""
    RegexFullMatch(input: string, pattern: string) -> (output: bool)

    Whether a pattern matches the whole of each string.
""")

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
# What RE2 writes otherwise than Python: quotations, the end of the text, classes of POSIX.
_PIECES = re.compile(r"\\Q(.*?)(?:\\E|$)|\\z|\\.|\[:(\^?)(\w+):\]|\[|\]|\$|\(\?[a-zA-Z-]*m", re.S)


@functools.lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Returns Python's form of an RE2 pattern.

    Raises:
      re.error: It is none.
    """
    inside = False
    lines = False

    def piece(m):
        nonlocal inside, lines
        found = m.group()
        if found.startswith("\\Q"):
            return re.escape(m.group(1))
        if found == "\\z":
            return r"\Z"
        if m.group(3):
            members = _POSIX.get(m.group(3))
            if not inside or members is None or m.group(2):
                return re.escape(found)
            return members
        if found == "[" and not inside:
            inside = True
            return found
        if found == "[":
            return r"\["
        if found == "]":
            inside = False
        if found == "$" and not inside and not lines:
            return r"\Z"
        if found.startswith("(?"):
            lines = True
        return found

    return re.compile(_PIECES.sub(piece, pattern), re.ASCII)


def _compiled(pattern):
    try:
        return compiled(pattern)
    except re.error as e:
        reason = {"unterminated": "missing )", "unbalanced": "unexpected )"}.get(str(e).split(" ")[-1], None)
        if "unterminated subpattern" in str(e):
            reason = "missing )"
        elif "unbalanced parenthesis" in str(e):
            reason = "unexpected )"
        elif "nothing to repeat" in str(e):
            reason = "no argument for repetition operator"
        elif "unterminated character set" in str(e):
            reason = "missing ]"
        invalid(f"Invalid pattern: {pattern}, error: {reason or e}: {pattern}")


def _decoded(s: bytes) -> str:
    return s.decode("utf-8", "surrogateescape")


def _encoded(s: str) -> bytes:
    return s.encode("utf-8", "surrogateescape")


_GROUP = re.compile(r"\\(.?)", re.S)


def _replace(array, pattern, rewrite, replace_global):
    expression = _compiled(pattern)
    for m in _GROUP.finditer(rewrite):
        mark = m.group(1)
        if mark.isdigit() and int(mark) > expression.groups:
            # As in TensorFlow, a rewrite that can't be made leaves the strings as they are.
            return each(lambda s: s, array)

    def made(found):
        def part(m):
            mark = m.group(1)
            return (found.group(int(mark)) or "") if mark.isdigit() else mark

        return _GROUP.sub(part, rewrite)

    count = 0 if replace_global else 1
    return each(lambda s: _encoded(expression.sub(made, _decoded(s), count=count)), array)


def _matches(array, pattern):
    expression = _compiled(pattern)
    return np.array([expression.fullmatch(_decoded(s)) is not None for s in flat(array)], bool).reshape(
        np.shape(array)
    )


@StaticRegexReplace.host
def static_regex_replace_host(input, *, pattern, rewrite, replace_global):
    return _replace(input, attr_text(pattern), attr_text(rewrite), replace_global)


@RegexReplace.shape
def regex_replace_shape(input, pattern, rewrite):
    for shape in (pattern, rewrite):
        _scalar(shape)
    return input


def _scalar(shape):
    if shape is not None and shape != ():
        raise ValueError(f"Shape must be rank 0 but is rank {len(shape)}")


@RegexReplace.host
def regex_replace_host(input, pattern, rewrite, *, replace_global):
    return _replace(input, text(pattern), text(rewrite), replace_global)


@StaticRegexFullMatch.host
def static_regex_full_match_host(input, *, pattern):
    return _matches(input, attr_text(pattern))


@RegexFullMatch.shape
def regex_full_match_shape(input, pattern):
    _scalar(pattern)
    return input


@RegexFullMatch.host
def regex_full_match_host(input, pattern):
    return _matches(input, text(pattern))


_WORDS = ["wheel", "mill race", ""]


@StaticRegexReplace.cases
def static_regex_replace_cases(case):
    case(_WORDS, pattern="e+", rewrite="E", gives=np.array([b"whEl", b"mill racE", b""], object))
    case(_WORDS, pattern="(l+)(.)", rewrite="[\\2\\1]", replace_global=False,
         gives=np.array([b"wheel", b"mi[ ll]race", b""], object))  # fmt: skip
    case(
        ["a1 b2\n"], pattern="[[:digit:]]+|\\n$", rewrite="<\\0>", gives=np.array([b"a<1> b<2><\n>"], object)
    )
    case.shapes("[2,?]", "[2,?]", pattern="a", rewrite="b")
    case.fails((["a"],), pattern="(", rewrite="b", match=r"Invalid pattern: \(, error: missing \)")


@RegexReplace.cases
def regex_replace_cases(case):
    case(_WORDS, "l", "\\0\\0", gives=np.array([b"wheell", b"millll race", b""], object))
    case.shapes("[2,?];[];[]", "[2,?]")
    case.fails("[2];[1];[]", match="must be rank 0")


@StaticRegexFullMatch.cases
def static_regex_full_match_cases(case):
    case(_WORDS, pattern="w.*l", gives=np.array([True, False, False]))
    case.shapes("[2,?]", "[2,?]", pattern="a")


@RegexFullMatch.cases
def regex_full_match_cases(case):
    case(_WORDS, ".*", gives=np.array([True, True, True]))
    case.shapes("[2,?];[]", "[2,?]")
    case.fails("[2];[1]", match="must be rank 0")


@export("regex_replace", "strings.regex_replace")
def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    r"""Replaces in each string what matches a pattern.

    Args:
      input: A tensor of strings.
      pattern: A regular expression, a string or a scalar tensor.
      rewrite: What comes instead; `\1` to `\9` stand for groups, `\0` for the whole.
      replace_global: Whether all matches are replaced, or the first alone.
      name: The node's name.
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return raw.StaticRegexReplace(
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return raw.RegexReplace(input, pattern, rewrite, replace_global=replace_global, name=name)


@export("strings.regex_full_match")
def regex_full_match(input, pattern, name=None):
    """Says of each string whether a pattern matches the whole of it.

    Args:
      input: A tensor of strings.
      pattern: A regular expression, a string or a scalar tensor.
      name: The node's name.
    """
    if not isinstance(pattern, Tensor) and isinstance(pattern, (str, bytes)):
        return raw.StaticRegexFullMatch(input, pattern=pattern, name=name)
    return raw.RegexFullMatch(input, pattern, name=name)
