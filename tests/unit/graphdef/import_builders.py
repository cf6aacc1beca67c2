"""Calls of import_graph_def, made the same way under TensorFlow (to record) and under headrace (to compare).

Each function takes the module `tf` and a graph that is the default, and may raise: the error is recorded, too.
"""


def placeholder(tf, name, dtype=1, **attrs):
    return _node(tf, name, "Placeholder", [], dtype=tf.AttrValue(type=dtype), **attrs)


def identity(tf, name, *inputs, dtype=1, **attrs):
    return _node(tf, name, "Identity", inputs, T=tf.AttrValue(type=dtype), **attrs)


def _node(tf, name, op, inputs=(), device="", **attrs):
    node = tf.NodeDef(name=name, op=op, input=inputs, device=device)
    for key, value in attrs.items():
        node.attr[key].CopyFrom(value)
    return node


def classes(tf, *groups):
    return tf.AttrValue(list=tf.AttrValue.ListValue(s=[group.encode() for group in groups]))


def graph_def(tf, *nodes):
    made = tf.GraphDef(node=nodes)
    made.versions.producer = 134
    return made


def names_and_control_inputs(tf, graph):
    d = graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p"), identity(tf, "j", "i", "^p", "^i"))
    tf.import_graph_def(d)
    tf.import_graph_def(d, name="x/y", return_elements=["i", "j:0", "j"])
    tf.import_graph_def(d)
    tf.import_graph_def(d, name="")
    tf.no_op(name="i")
    tf.no_op(name="import/i")


def any_order(tf, graph):
    nodes = identity(tf, "j", "i"), identity(tf, "i", "p"), placeholder(tf, "p"), placeholder(tf, "q")
    tf.import_graph_def(graph_def(tf, *nodes))


def taken_names(tf, graph):
    tf.constant(1, name="p")
    tf.import_graph_def(
        graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p", _class=classes(tf, "loc:@p"))), name=""
    )
    tf.no_op(name="i")
    tf.import_graph_def(
        graph_def(tf, placeholder(tf, "i"), placeholder(tf, "I"), placeholder(tf, "i_1")), name=""
    )


def scopes_around(tf, graph):
    a = tf.no_op(name="a")
    with tf.control_dependencies([a]), tf.device("/cpu:0"), tf.name_scope("s"):
        k = identity(tf, "k", "p", device="/gpu:1", _class=classes(tf, "loc:@p"))
        tf.import_graph_def(
            graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p", device="/job:w/gpu:1"), k)
        )
        tf.import_graph_def(graph_def(tf, placeholder(tf, "p")), name="")


def waits_even_for_what_it_takes(tf, graph):
    with tf.control_dependencies([tf.no_op(name="n")]):
        r = tf.import_graph_def(
            graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p")), return_elements=["i:0"]
        )[0]
        tf.identity(r, name="z")


def device_functions(tf, graph):
    with tf.device(lambda op: "/device:CPU:1" if op.name.endswith("i") else ""):
        tf.import_graph_def(graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p")))


def mapped_inputs(tf, graph):
    a = tf.constant(1.0, name="a")
    d = graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p"), identity(tf, "j", "i", "^p"))
    tf.import_graph_def(d, input_map={"p:0": a, "^p": a})
    tf.import_graph_def(d, input_map={"i": a})
    tf.import_graph_def(d, input_map={"p": 2.0})
    absent = graph_def(tf, identity(tf, "i", "absent"))
    tf.import_graph_def(absent, input_map={"absent": a})


def defaults(tf, graph):
    mm = _node(tf, "m", "MatMul", ["p", "p"], T=tf.AttrValue(type=1))
    tf.import_graph_def(graph_def(tf, mm, placeholder(tf, "p")))


def shapes_told(tf, graph):
    shape = tf.AttrValue(list=tf.AttrValue.ListValue(shape=[tf.TensorShape([3]).as_proto()]))
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p", _output_shapes=shape)))


def unused_key(tf, graph):
    a = tf.constant(1.0, name="a")
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p")), input_map={"b:1": a, "c": a})


def mapped_type(tf, graph):
    d = graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p"))
    tf.import_graph_def(d, input_map={"p": tf.constant(1)})


def values_without_name(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p")), input_map={"p": 1.0}, name="")


def bad_map(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p")), input_map=3)


def unknown_input(tf, graph):
    tf.import_graph_def(graph_def(tf, identity(tf, "i", "q")))


def unknown_control_input(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p", "^zz")))


def malformed_input(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p:x")))


def invalid_output(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p:1")))


def duplicate(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p"), placeholder(tf, "p")))


def cycle(tf, graph):
    tf.import_graph_def(graph_def(tf, identity(tf, "i", "j"), identity(tf, "j", "i")))


def wrong_type(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "p", dtype=3)))


def control_before_data(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "^p", "p")))


def bad_name(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p q")))


def bad_scope(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p")), name="bad name")


def unknown_colocation(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p", _class=classes(tf, "loc:@nowhere"))))


def no_such_return_node(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p")), return_elements=["q"])


def no_such_return_output(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p")), return_elements=["p:1"])


def no_such_return_tensor(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p")), return_elements=["q:0"])


def malformed_return(tf, graph):
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p")), return_elements=["p:0:1"])


def not_a_graph_def(tf, graph):
    tf.import_graph_def("graph")


def bad_shapes(tf, graph):
    shape = tf.AttrValue(list=tf.AttrValue.ListValue(shape=[tf.TensorShape([3]).as_proto()]))
    own = tf.AttrValue(shape=tf.TensorShape([4]).as_proto())
    tf.import_graph_def(graph_def(tf, placeholder(tf, "p", shape=own, _output_shapes=shape)))


BUILDERS = {
    name: value
    for name, value in list(globals().items())
    if callable(value)
    and not name.startswith("_")
    and name not in ("placeholder", "identity", "classes", "graph_def")
}
