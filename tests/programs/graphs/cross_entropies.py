"""Sigmoid, softmax, sparse and weighted cross entropies, softmax variants, and losses made by hand."""


def build(tf):
    logits = tf.constant([[1.0, -2.0, 0.5], [3.0, 0.0, -1.0]], name="logits")
    labels = tf.constant([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]], name="labels")
    classes = tf.constant([2, 0], name="classes")
    p = tf.nn.sigmoid(logits)
    losses = {
        "sigmoid": tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits),
        "weighted": tf.nn.weighted_cross_entropy_with_logits(labels, logits, 2.0),
        "softmax": tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits),
        "softmax_v2": tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits),
        "softmax_dim": tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=0),
        "sparse": tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits),
        "l2": tf.nn.l2_loss(logits),
        "log_loss": -tf.reduce_mean(labels * tf.log(p + 1e-7) + (1.0 - labels) * tf.log(1.0 - p + 1e-7)),
        "hinge": tf.reduce_mean(tf.maximum(0.0, 1.0 - (2.0 * labels - 1.0) * logits)),
        "absolute": tf.reduce_mean(tf.abs(labels - logits)),
        "smooth": tf.reduce_mean(
            tf.where(tf.abs(logits) < 1.0, 0.5 * tf.square(logits), tf.abs(logits) - 0.5)
        ),
        "log_softmax": tf.nn.log_softmax(logits),
        "softmax_only": tf.nn.softmax(logits),
        "softmax_first": tf.nn.softmax(logits, axis=0) * labels,
        "cosine": 1.0 - tf.reduce_sum(tf.nn.l2_normalize(labels, 1) * tf.nn.l2_normalize(logits, 1), 1),
    }
    fetches = dict(losses)
    for name in losses:
        fetches["gradient_" + name] = tf.gradients(losses[name], logits)[0]
    fetches["label_gradient"] = tf.gradients(losses["softmax_v2"], labels)[0]
    fetches["second"] = tf.gradients(tf.square(tf.gradients(losses["softmax_v2"], logits)[0]), logits)[0]
    return fetches
