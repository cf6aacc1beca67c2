"""Records tests/golden/api.json: TensorFlow 1.15's public functions and classes with their argument lists.

Run with the oracle:  scripts/oracle tests/golden/record/api.py LISTING

LISTING is a JSON listing of the public API, module or class -> {"kind", "members", "functions", "methods"}, with
argument lists as TensorFlow's own tools print them ("args=[...], varargs=None, keywords=None, defaults=[...]").
"""

import ast
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import canonical

ARGSPEC = re.compile(r"args=(\[.*?\]), varargs=(.*?), keywords=(.*?), defaults=(None|\[.*\])")


def signature(argspec):
    """The argument list: "logits, axis=None, **kwargs"; defaults are what str() gives, objects three dots."""
    parts = ARGSPEC.match(argspec.replace('\\"', '"')).groups()
    args, varargs, keywords, defaults = (ast.literal_eval(_quoted(part)) for part in parts)
    defaults = defaults or []
    plain = args[: len(args) - len(defaults)]
    rows = plain + ["{}={}".format(a, _default(d)) for a, d in zip(args[len(plain) :], defaults)]
    rows += ["*" + varargs] if varargs else []
    return ", ".join(rows + (["**" + keywords] if keywords else []))


def _default(text):
    return "..." if re.match("<.* instance>$|<class", text) else text


def _quoted(text):
    return text if text[0] in "['\"" or text == "None" else repr(text)


def _add(table, module, name, text):
    table.setdefault(module, {})[name] = text


def main():
    listing = json.loads(pathlib.Path(sys.argv[1]).read_text())
    table = {}
    for name, facts in listing.items():
        if facts["kind"] == "module":
            for member, kind in facts.get("members", {}).items():
                if kind == "value":
                    _add(table, name, member, "value")
            for function, argspec in facts.get("functions", {}).items():
                _add(table, name, function, signature(argspec))
        elif facts["kind"] == "class":
            init = facts.get("methods", {}).get("__init__")
            _add(table, *name.rsplit(".", 1), text="class: " + signature(init) if init else "class")
        else:
            _add(table, *name.rsplit(".", 1), text="message")
    canonical.write_table("api.json", table)


if __name__ == "__main__":
    main()
