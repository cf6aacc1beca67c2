"""RemoteCall runs a function on a device that it finds by name: TensorFlow 1.15.5's names and refusals."""

import pytest

import headrace as tf
from headrace.functions.defun import Defun
from headrace.opdef import raw
from headrace.resources.devices import device_called

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
NOT_THERE = "Currently don't support instantiating functions on device: "


@pytest.mark.parametrize(
    "target",
    ["", "CPU:0", "/CPU:0", "/cpu:0", "/device:CPU", "/device:CPU:*", "/task:0/cpu:0", "/job:localhost", CPU],
)
def test_names_of_the_cpu(target):
    assert device_called(target) == CPU


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("cpu:0", "/job:localhost/replica:0/task:0/device:cpu:0"),
        ("/cpu:7", "/job:localhost/replica:0/task:0/device:CPU:7"),
        ("/device:FOO:0", "/job:localhost/replica:0/task:0/device:FOO:0"),
        ("/job:localhost/task:1", "/job:localhost/replica:0/task:1/device:CPU:0"),
        ("/job:localhost/replica:1/cpu:0", "/job:localhost/replica:1/task:0/device:CPU:0"),
        ("/job:worker/task:1/gpu:2", "/job:worker/replica:0/task:1/device:GPU:2"),
    ],
)
def test_devices_that_are_not_there(target, name):
    with pytest.raises(tf.errors.InternalError, match=NOT_THERE + name):
        device_called(target)


@pytest.mark.parametrize("target", ["CPU", "/cpu", "/bogus:0", "a/b", "/job:", "localhost"])
def test_what_names_no_device(target):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Could not parse {target} into a device spec"):
        device_called(target)


@pytest.mark.parametrize("soft", [False, True])
def test_a_call_asks_for_its_target_in_each_step(tier, soft):
    @Defun(tf.float32)
    def double(x):
        return 2.0 * x

    with tf.Graph().as_default():
        target = tf.placeholder(tf.string, [])
        call = raw.RemoteCall(target, [tf.constant(3.0)], Tout=[tf.float32], f=double)
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=soft)) as session:
            for _ in range(2):
                assert session.run(call, {target: "/cpu:0"}) == [6.0]
                with pytest.raises(tf.errors.InternalError, match=NOT_THERE + "/job:worker"):
                    session.run(call, {target: "/job:worker"})
