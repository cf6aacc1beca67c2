"""One variable for each optimizer of tf.train, with their slots."""


def build(tf):
    step = tf.train.get_or_create_global_step()
    optimizers = {
        "descent": tf.train.GradientDescentOptimizer(0.1),
        "momentum": tf.train.MomentumOptimizer(0.1, 0.9),
        "adagrad": tf.train.AdagradOptimizer(0.1),
        "adagrad_da": tf.train.AdagradDAOptimizer(0.1, step),
        "adadelta": tf.train.AdadeltaOptimizer(0.1),
        "rmsprop": tf.train.RMSPropOptimizer(0.1),
        "rmsprop_centered": tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
        "ftrl": tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
        "proximal_descent": tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02),
        "proximal_adagrad": tf.train.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.01),
        "adam": tf.train.AdamOptimizer(0.1, epsilon=1e-4),
    }
    results = {}
    updates = []
    for name, optimizer in optimizers.items():
        with tf.variable_scope(name):
            variable = tf.get_variable("variable", initializer=tf.constant([1.0, -2.0, 3.0]))
            loss = tf.reduce_sum(tf.square(variable - 0.5))
            updates.append(optimizer.minimize(loss, var_list=[variable]))
        results[name] = variable
        for slot in optimizer.get_slot_names():
            results[name + "/" + slot] = optimizer.get_slot(variable, slot)
    with tf.control_dependencies(updates):
        results["train"] = tf.assign_add(step, 1).op
    results["init"] = tf.global_variables_initializer()
    return results
