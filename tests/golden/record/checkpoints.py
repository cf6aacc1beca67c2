"""Records two small checkpoints of TensorFlow 1.15.5: whole variables of several types, and partitioned ones."""

import os

import numpy as np
import tensorflow as tf

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "checkpoints")


def save(name, make):
    with tf.Graph().as_default():
        make()
        saver = tf.train.Saver()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            saver.save(sess, os.path.join(FOLDER, name), write_meta_graph=False, write_state=False)


def whole():
    tf.get_variable("v", initializer=np.float32([1, 2.5, -3]))
    tf.get_variable("a/w", initializer=np.arange(6, dtype=np.float64).reshape(2, 3))
    tf.Variable(3, name="step", trainable=False)
    tf.Variable(["x", "yy", "", "\0"], name="strings")
    tf.get_variable("resource", initializer=np.float32([0.5]), use_resource=True)
    tf.get_variable("flag", initializer=np.array([True, False]))
    tf.get_variable("empty", initializer=np.zeros((0, 4), np.int64))


def parts():
    def numbers(shape, dtype, partition_info):
        start = partition_info.var_offset[0] * 3.0
        return tf.reshape(tf.range(start, start + shape[0] * 3.0), shape)

    tf.get_variable("big", [100, 3], initializer=numbers, partitioner=tf.fixed_size_partitioner(3))
    for i in range(40):
        tf.get_variable("layer_%d/%s" % (i, "x" * 30), initializer=np.float32([i]))


if not os.path.isdir(FOLDER):
    os.makedirs(FOLDER)
save("whole", whole)
save("parts", parts)
