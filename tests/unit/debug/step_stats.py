"""A StepStats with all that timelines treat differently; runs under Python 3.7 and today's."""

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def fill(step_stats):
    """Adds four devices with their nodes to a StepStats."""

    def node(device, name, start, end, label, outputs=()):
        stats = device.node_stats.add(
            node_name=name,
            all_start_micros=start,
            op_end_rel_micros=end,
            all_end_rel_micros=end,
            timeline_label=label,
        )
        for i, (size, allocator) in enumerate(outputs):
            description = stats.output.add(slot=i).tensor_description
            description.dtype = 1
            description.shape.dim.add(size=size // 4)
            description.allocation_description.requested_bytes = size
            description.allocation_description.allocator_name = allocator

    cpu = step_stats.dev_stats.add(device=CPU)
    node(cpu, "_SOURCE", 1000, 2, "_SOURCE = NoOp()")
    node(cpu, "a", 1010, 6, "a = Const()", [(400, "cpu")])
    node(cpu, "b", 1012, 10, "b = Const()", [(40, "cpu"), (80, "cpu")])
    node(cpu, "c", 1030, 20, "c = MatMul(a, b)", [(800, "cpu")])
    node(cpu, "d/e:MatMul", 1060, 20, "d/e:MatMul")
    node(cpu, "plain", 1070, 2, "")
    node(cpu, "f", 1090, 4, "[cpu 1.2MB 3.4MB] f = Relu(b:1, ^a)", [(8, "cpu")])
    node(cpu, "early", 1011, 2, "early = Neg(f,a)", [(8, "")])
    node(cpu, "no_time", 1100, 0, "no_time = Neg(f:0)", [(8, "")])
    node(cpu, "_recv_x", 1100, 0, "[ 1] _recv_x = _Recv()")
    node(cpu, "cut", 1110, 4, "cut = ")
    gpu = step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:GPU:0")
    node(gpu, "c", 1033, 4, "c = MatMul(a, b)", [(800, "gpu_bfc")])
    stream = step_stats.dev_stats.add(device="/device:GPU:0/stream:all")
    node(stream, "c:MatMul", 1035, 2, "c:MatMul")
    node(stream, "MEMCPYHtoD", 1036, 2, "edge_5_a:MEMCPYHtoD")
    copies = step_stats.dev_stats.add(device="/device:GPU:0/memcpy")
    node(copies, "c:x:MatMul#id", 1035, 2, "c:MatMul")
    return step_stats
