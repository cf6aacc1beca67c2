"""A readable account of how one graph differs from another."""

from tests.golden.canonical import dumps

SHOWN = 5
FIELDS = ("name", "op", "inputs", "attrs", "output shapes", "device")


def compare(got, want):
    """Compares two lists of nodes in canonical form.

    Args:
      got: The nodes that were built.
      want: The nodes that the golden file holds.

    Returns:
      The empty string if they are equal, else a text that names the first nodes to look at.
    """
    if [dumps(node) for node in got] == [dumps(node) for node in want]:
        return ""
    got_by_name = {node[0]: node for node in got}
    want_by_name = {node[0]: node for node in want}
    missing = [node for node in want if node[0] not in got_by_name]
    surplus = [node for node in got if node[0] not in want_by_name]
    changed = [
        (got_by_name[node[0]], node)
        for node in want
        if node[0] in got_by_name and dumps(got_by_name[node[0]]) != dumps(node)
    ]
    lines = [f"{len(got)} nodes where TensorFlow builds {len(want)}"]
    lines += _listed("missing", [_brief(node) for node in missing])
    lines += _listed("not in TensorFlow's graph", [_brief(node) for node in surplus])
    lines += _listed("different", [_node_difference(*pair) for pair in changed])
    lines += _first_out_of_order([node[0] for node in got], [node[0] for node in want])
    return "\n".join(lines)


def compare_names(got, want):
    """Compares two dicts of lists of names; returns the empty string or a text."""
    lines = []
    for key in sorted(set(got) | set(want)):
        if got.get(key) != want.get(key):
            lines.append(f"collection {key!r}: {got.get(key)} where TensorFlow has {want.get(key)}")
    return "\n".join(lines)


def _brief(node):
    return f"{node[0]} = {node[1]}({', '.join(node[2])})"


def _node_difference(got, want):
    lines = [want[0] + ":"]
    for index, field in enumerate(FIELDS):
        left = got[index] if index < len(got) else ""
        right = want[index] if index < len(want) else ""
        if field == "attrs":
            for key in sorted(set(left) | set(right)):
                if dumps(left.get(key)) != dumps(right.get(key)):
                    lines.append(_pair(f"attr {key}", left.get(key, "absent"), right.get(key, "absent")))
        elif dumps(left) != dumps(right):
            lines.append(_pair(field, left, right))
    return "\n      ".join(lines)


def _pair(field, got, want):
    return f"{field}: {dumps(got)} where TensorFlow has {dumps(want)}"


def _listed(title, items):
    if not items:
        return []
    more = [f"    ... and {len(items) - SHOWN} more"] if len(items) > SHOWN else []
    return [f"{len(items)} {title}:", *(f"    {item}" for item in items[:SHOWN]), *more]


def _first_out_of_order(got, want):
    common = set(got) & set(want)
    pairs = zip([name for name in got if name in common], [name for name in want if name in common])
    for left, right in pairs:
        if left != right:
            return [f"order of creation: {left} comes where TensorFlow makes {right}"]
    return []
