"""Embeddings looked up by ids, sharded and whole, with IndexedSlices gradients into each sparse update."""


def build(tf):
    ids = tf.constant([[1, 3], [3, 0]])
    start = tf.reshape(tf.linspace(-1.0, 1.0, 12), [4, 3])
    optimizers = [
        tf.train.GradientDescentOptimizer(0.1),
        tf.train.MomentumOptimizer(0.1, 0.9),
        tf.train.AdagradOptimizer(0.1),
        tf.train.AdamOptimizer(0.1),
        tf.train.RMSPropOptimizer(0.1),
        tf.train.FtrlOptimizer(0.1),
        tf.train.AdadeltaOptimizer(0.1),
    ]
    results = {}
    updates = []
    for optimizer in optimizers:
        name = optimizer.get_name()
        table = tf.Variable(start, name="table_" + name)
        rows = tf.nn.embedding_lookup(table, ids)
        loss = tf.reduce_sum(tf.square(rows) * [1.0, 2.0, 3.0])
        updates.append(optimizer.minimize(loss, var_list=[table]))
        results[name] = table
    shards = [tf.Variable(tf.ones([2, 3]) * (k + 1), name=f"shard_{k}") for k in range(2)]
    modular = tf.nn.embedding_lookup(shards, ids)
    divided = tf.nn.embedding_lookup(shards, ids, partition_strategy="div")
    slices = tf.gradients(tf.reduce_sum(modular * modular), shards)
    clipped = tf.nn.embedding_lookup(shards[0], [0, 1], max_norm=1.5)
    mixed_table = tf.Variable(start, name="mixed")
    mixed = tf.gradients(
        tf.reduce_sum(tf.gather(mixed_table, [0, 0])) + tf.reduce_sum(tf.square(mixed_table)), mixed_table
    )
    results.update(
        init=tf.global_variables_initializer(),
        train=tf.group(*updates),
        modular=modular,
        divided=divided,
        clipped=clipped,
        slice_values=slices[0].values,
        slice_indices=slices[0].indices,
        slice_dense=tf.convert_to_tensor(slices[1]),
        mixed=tf.convert_to_tensor(mixed[0]),
    )
    return results
