"""Each optimizer on resource variables and on rows, in float64, under a device, with a constraint and a shared step."""


def optimizers(tf, step, **options):
    return [
        tf.train.GradientDescentOptimizer(0.1, **options),
        tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True, **options),
        tf.train.AdagradOptimizer(0.1, **options),
        tf.train.AdagradDAOptimizer(0.1, step, **options),
        tf.train.AdadeltaOptimizer(0.1, **options),
        tf.train.RMSPropOptimizer(0.1, momentum=0.5, **options),
        tf.train.RMSPropOptimizer(0.1, centered=True, name="Centered", **options),
        tf.train.AdamOptimizer(0.1, epsilon=1e-3, **options),
        tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1, **options),
        tf.train.FtrlOptimizer(0.1, name="Named", accum_name="A", linear_name="L", **options),
        tf.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01, **options),
    ]


def build(tf):
    step = tf.train.get_or_create_global_step()
    start = tf.constant([[0.5, -1.0], [1.5, 2.0], [-0.25, 1.0]])
    results, updates = {}, []
    for kind, resource, rows, dtype, options in (
        ("ref64", False, False, tf.float64, {}),
        ("ref_rows", False, True, tf.float32, {"use_locking": True}),
        ("resource", True, False, tf.float32, {}),
        ("resource_rows", True, True, tf.float32, {}),
    ):
        for number, optimizer in enumerate(optimizers(tf, step, **options)):
            if dtype == tf.float64 and "Proximal" in optimizer.get_name():
                continue  # TensorFlow's trains float32 variables only
            with tf.variable_scope(f"{kind}_{number}"):
                weights = tf.get_variable("weights", initializer=tf.cast(start, dtype), use_resource=resource)
                used = tf.gather(weights, [0, 2, 0]) if rows else weights
                updates.append(optimizer.minimize(tf.reduce_sum(used * used), var_list=[weights]))
            results[f"{kind}_{number}"] = weights
            for slot in optimizer.get_slot_names():
                results[f"{kind}_{number}_{slot}"] = optimizer.get_slot(weights, slot)

    free = tf.get_variable("free", initializer=[0.05, 2.0])
    kept = tf.get_variable(
        "kept", initializer=[0.05, 2.0], constraint=lambda w: tf.maximum(w, 0.0), use_resource=True
    )
    counter = tf.get_variable(
        "counter", [], tf.int64, initializer=tf.zeros_initializer(), use_resource=True, trainable=False
    )
    optimizer = tf.train.AdamOptimizer(lambda: tf.constant(0.1), name="Mine")
    with tf.device("/cpu:0"), tf.name_scope("train"):
        pairs = optimizer.compute_gradients(
            tf.reduce_sum(free * kept), [free, kept], gate_gradients=tf.train.Optimizer.GATE_GRAPH
        )
        gradients, norm = tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
        updates.append(optimizer.apply_gradients(zip(gradients, [free, kept]), global_step=counter))
    results.update(free=free, kept=kept, counter=counter, norm=norm)
    with tf.control_dependencies(updates):
        results["train"] = tf.assign_add(step, 1).op
    results["init"] = tf.global_variables_initializer()
    return results
