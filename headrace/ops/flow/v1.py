"""Control flow as graphs of TensorFlow 1 write it: Switch and Merge for branches, frames of Enter and Exit for loops.

`tf.cond` and `tf.while_loop` build functional nodes here; these ops come with graphs from elsewhere. What they mean
(a value that isn't there, a value for each iteration) is not a matter of one node's rule: `headrace.passes` and
`headrace.runtime.frames` run the part of a graph that has them.
"""

from __future__ import annotations

from headrace.errors import InvalidArgumentError
from headrace.opdef import op, raw
from headrace.shapes import unchanged


def _pass_on(data):
    return data


def _kept_handle(ctx, outputs=1):
    data = ctx.handle(0)
    if data is not None:
        for i in range(outputs):
            ctx.set_handle(data, i)


def _switch_shape(data, pred, *, ctx):
    if pred:
        raise ValueError(f"Shape must be rank 0 but is rank {len(pred)}")
    _kept_handle(ctx, 2)
    return [data, data]


def _merge_shape(inputs):
    dims = inputs[0]
    for other in inputs[1:]:
        if dims is None or other is None or len(dims) != len(other):
            dims = None
            break
        dims = tuple(a if a == b else None for a, b in zip(dims, other, strict=True))
    return [dims, ()]


def _enter_shape(data, *, is_constant, ctx):
    # What goes round a loop may change its shape there.
    if not is_constant:
        return None
    _kept_handle(ctx)
    return data


def _passed_shape(data, *, ctx):
    _kept_handle(ctx)
    return data


def _loop_cond_shape(input):
    if input:
        raise ValueError(f"Shape must be rank 0 but is rank {len(input)}")
    return ()


_FRAME = """
      T: type
      frame_name: string
      is_constant: bool = false
      parallel_iterations: int = 10
"""

Switch = op("""
    Switch(data: T, pred: bool) -> (output_false: T, output_true: T)
      T: type

    Passes data on to one of two outputs; nothing comes out of the other.
""", shape=_switch_shape)  # fmt: skip

RefSwitch = op("""
    RefSwitch(data: Ref(T), pred: bool) -> (output_false: Ref(T), output_true: Ref(T))
      T: type
      allows_uninitialized_input

    Passes a reference on to one of two outputs; nothing comes out of the other.
""", shape=_switch_shape, reads="data")  # fmt: skip

Merge = op("""
    Merge(inputs: N * T) -> (output: T, value_index: int32)
      T: type
      N: int >= 1

    Passes on the input that is there, and says which it is.
""", shape=_merge_shape)  # fmt: skip

RefMerge = op("""
    RefMerge(inputs: N * Ref(T)) -> (output: Ref(T), value_index: int32)
      T: type
      N: int >= 1

    Passes on the reference that is there, and says which it is.
""", shape=_merge_shape, reads="inputs")  # fmt: skip

Enter = op(f"""
    Enter(data: T) -> (output: T){_FRAME}
    Takes a value into a loop: into its first iteration, or into all of them if it is constant.
""", shape=_enter_shape)  # fmt: skip

RefEnter = op(f"""
    RefEnter(data: Ref(T)) -> (output: Ref(T)){_FRAME}
    Takes a reference into a loop: into its first iteration, or into all of them if it is constant.
""", shape=unchanged, reads="data")  # fmt: skip

Exit = op("""
    Exit(data: T) -> (output: T)
      T: type

    Takes a value out of a loop.
""", shape=_passed_shape)  # fmt: skip

RefExit = op("""
    RefExit(data: Ref(T)) -> (output: Ref(T))
      T: type

    Takes a reference out of a loop.
""", shape=unchanged, reads="data")  # fmt: skip

NextIteration = op("""
    NextIteration(data: T) -> (output: T)
      T: type

    Takes a value into the next iteration of the loop that it is in.
""", shape=_passed_shape)  # fmt: skip

RefNextIteration = op("""
    RefNextIteration(data: Ref(T)) -> (output: Ref(T))
      T: type

    Takes a reference into the next iteration of the loop that it is in.
""", shape=unchanged, reads="data")  # fmt: skip

LoopCond = op("""
    LoopCond(input: bool) -> (output: bool)

    Passes on whether a loop goes on.
""", shape=_loop_cond_shape)  # fmt: skip

for _kind in (Enter, RefEnter, Exit, RefExit, NextIteration, RefNextIteration, LoopCond):
    _kind.host(_pass_on)

ControlTrigger = op("""
    ControlTrigger() -> ()

    Waits for nodes, whether they run or are on a branch that is not taken.
""")

ControlTrigger.host(lambda: ())

RefSelect = op("""
    RefSelect(index: int32, inputs: N * Ref(T)) -> (output: Ref(T))
      T: type
      N: int >= 1

    Passes on one of several references.
""", reads="inputs")  # fmt: skip


@RefSelect.shape
def ref_select_shape(index, inputs):
    if index:
        raise ValueError(f"Shape must be rank 0 but is rank {len(index)}")
    first = inputs[0]
    # The shape is known if all have it.
    return first if first is not None and None not in first and all(d == first for d in inputs) else None


@RefSelect.host
def ref_select_host(index, inputs):
    if not 0 <= int(index) < len(inputs):
        raise ValueError(f"Index must be in the range [0, {len(inputs)}) but got {int(index)}")
    return inputs[int(index)]


# -- gradients ---------------------------------------------------------------------------------------------------


def _switch_gradient(op, *dys):
    pred = op.inputs[1]
    off = raw.Switch(dys[0], pred, name="Switch")[0]
    on = raw.Switch(dys[1], pred, name="Switch")[1]
    return [raw.Merge([off, on], name="Merge")[0], None]


def _merge_gradient(op, dy, _):
    which = [raw.Equal(op.outputs[1], i, name="Equal") for i in range(len(op.inputs))]
    return [raw.Switch(dy, each, name="Switch")[1] for each in which]


def _loop_gradient(op, *dys):
    raise NotImplementedError(
        f"'{op.name}' (op: '{op.type}') is part of a loop in a graph from outside, and a GraphDef does not say "
        "enough of its loops to differentiate them. Import a MetaGraphDef with tf.train.import_meta_graph, import the "
        "graph with its gradients, or build the loop with tf.while_loop."
    )


for _kind in (Switch, RefSwitch):
    _kind.grad(_switch_gradient)
for _kind in (Merge, RefMerge):
    _kind.grad(_merge_gradient)
for _kind in (Enter, RefEnter, Exit, RefExit, NextIteration, RefNextIteration):
    _kind.grad(_loop_gradient)


@LoopCond.grad
def loop_cond_grad(op, dy):
    return None


# -- cases -------------------------------------------------------------------------------------------------------


def _branch_cases(switch, merge, is_reference):
    def cases(case):
        @case.program
        def one_side_is_there(step):
            pred = raw.Placeholder(dtype="bool", shape=[])
            if is_reference:
                x = raw.VariableV2(shape=[2], dtype="float32")
                step(raw.Assign(x, [1.0, 2.0]))
            else:
                x = raw.Identity([1.0, 2.0])
            off, on = switch(x, pred)
            first = raw.Assign(off, [-1.0, -2.0]) if is_reference else raw.Neg(off)
            out, which = merge([first, on])
            step([out, which], feed={pred: True}, gives=([1.0, 2.0], 1))
            step([out, which], feed={pred: False}, gives=([-1.0, -2.0], 0))
            step(on, feed={pred: False}, fails=InvalidArgumentError, match="does not have value")

    return cases


Switch.cases(_branch_cases(Switch, Merge, False))
Merge.cases(_branch_cases(Switch, Merge, False))
RefSwitch.cases(_branch_cases(RefSwitch, RefMerge, True))
RefMerge.cases(_branch_cases(RefSwitch, RefMerge, True))


def _loop_cases(case):
    @case.program
    def doubles_three_times(step):
        limit = raw.Enter(3, frame_name="loop", is_constant=True)
        starts = [raw.Enter(start, frame_name="loop") for start in (0, 1.5)]
        count, x = (raw.Merge([start, start]) for start in starts)
        go_on = raw.LoopCond(raw.Less(count[0], limit))
        (counted, count_on), (doubled, x_on) = (raw.Switch(v[0], go_on) for v in (count, x))
        add = raw.AddV2(count_on, raw.Enter(1, frame_name="loop", is_constant=True))
        count[0].op._update_input(1, raw.NextIteration(add))
        x[0].op._update_input(1, raw.NextIteration(raw.AddV2(x_on, x_on)))
        step([raw.Exit(counted), raw.Exit(doubled)], gives=(3, 12.0))


for _kind in (Enter, Exit, NextIteration, LoopCond):
    _kind.cases(_loop_cases)


def _reference_loop_cases(case):
    @case.program
    def counts_in_a_variable(step):
        v = raw.VariableV2(shape=[], dtype="float32")
        step(raw.Assign(v, 0.0))
        start = raw.RefEnter(v, frame_name="loop")
        inside, _ = raw.RefMerge([start, start])
        one = raw.Enter(1.0, frame_name="loop", is_constant=True)
        more = raw.AssignAdd(inside, one)
        go_on = raw.LoopCond(raw.Less(more, raw.Enter(3.0, frame_name="loop", is_constant=True)))
        off, on = raw.RefSwitch(more, go_on)
        inside.op._update_input(1, raw.RefNextIteration(on))
        step(raw.RefExit(off), gives=3.0)
        step(v, gives=3.0)


for _kind in (RefEnter, RefExit, RefNextIteration):
    _kind.cases(_reference_loop_cases)


@ControlTrigger.cases
def control_trigger_cases(case):
    @case.program
    def runs_after_a_branch_not_taken(step):
        _, on = raw.Switch(1.0, False)
        graph = on.graph
        with graph.control_dependencies([raw.Neg(on)]):
            trigger = raw.ControlTrigger()
        with graph.control_dependencies([trigger]):
            step(raw.Identity(2.0), gives=2.0)


@RefSelect.cases
def ref_select_cases(case):
    @case.program
    def one_of_two(step):
        a, b = (raw.VariableV2(shape=[], dtype="float32") for _ in range(2))
        step([raw.Assign(a, 1.0), raw.Assign(b, 2.0)])
        which = raw.Placeholder(dtype="int32", shape=[])
        picked = raw.RefSelect(which, [a, b])
        step(picked, feed={which: 1}, gives=2.0)
        step(raw.Assign(picked, 5.0), feed={which: 0}, gives=5.0)
        step([a, b], gives=(5.0, 2.0))
        step(picked, feed={which: 2}, fails=InvalidArgumentError, match=r"must be in the range \[0, 2\)")
