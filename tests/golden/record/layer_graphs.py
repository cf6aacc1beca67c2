"""Records tests/golden/layer_graphs.json: what TensorFlow 1.15 builds and answers for tf.layers and tf.losses.

Run it with the oracle: scripts/oracle tests/golden/record/layer_graphs.py
The snippets are as in variable_graphs.py.
"""

from variable_graphs import canonical, run, tf

SNIPPETS = {}

SNIPPETS["dense"] = """
x=tf.placeholder(tf.float32,[None,7],name="x")
y=tf.layers.dense(x,5,tf.nn.relu,kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1),
    bias_regularizer=tf.contrib.layers.l1_regularizer(0.1),activity_regularizer=lambda t: tf.reduce_sum(t))
y=tf.layers.dense(y,5,name="d2")
y=tf.layers.dense(y,5,name="d2",reuse=True)
"""

SNIPPETS["dense_rank_3"] = """
x=tf.placeholder(tf.float32,[None,3,7],name="x")
with tf.variable_scope("a"), tf.name_scope("foo"):
    y=tf.layers.dense(x,5,tf.nn.relu)
    y=tf.layers.dense(y,2,use_bias=False)
"""

SNIPPETS["dense_object"] = """
x=tf.placeholder(tf.float32,[4,7],name="x")
d=tf.layers.Dense(3,name="my")
y=d(x)
z=d.apply(x)
out += [str(v) for v in [d.name,d.scope_name,[v.name for v in d.variables],[v.name for v in d.trainable_weights],
    d.built,d.losses,d.updates,d.input_spec, d.dtype,d.units]]
d2=tf.layers.Dense(3)
y=d2(x)
out += [str(v) for v in [d2.name,d2.scope_name]]
with tf.variable_scope("s", regularizer=lambda w: tf.reduce_sum(w)):
    d3=tf.layers.Dense(3)
    y=d3(x)
out += [str(v) for v in [d3.name,d3.scope_name,d3.losses, d3.get_losses_for(None), d3.get_losses_for(x)]]
"""

SNIPPETS["conv1d"] = """
x=tf.placeholder(tf.float32,[None,9,7],name="x")
y=tf.layers.conv1d(x,5,3,activation=tf.nn.relu)
y=tf.layers.conv1d(x,5,3,dilation_rate=2,padding="same")
x=tf.placeholder(tf.float32,[None,7,9],name="x")
y=tf.layers.conv1d(x,5,3,data_format="channels_first")
"""

SNIPPETS["conv2d"] = """
x=tf.placeholder(tf.float32,[None,9,7,2],name="x")
y=tf.layers.conv2d(x,5,3,activation=tf.nn.relu)
y=tf.layers.conv2d(x,5,(3,2),strides=2,dilation_rate=1,padding="same")
y=tf.layers.conv2d(x,5,(3,2),dilation_rate=2,padding="same")
x=tf.placeholder(tf.float32,[None,7,9,9],name="x")
y=tf.layers.conv2d(x,5,3,data_format="channels_first")
"""

SNIPPETS["conv3d"] = """
x=tf.placeholder(tf.float32,[None,9,7,7,2],name="x")
y=tf.layers.conv3d(x,5,3,activation=tf.nn.relu)
"""

SNIPPETS["conv3d_channels_first"] = """
x=tf.placeholder(tf.float32,[None,2,9,7,7],name="x")
y=tf.layers.conv3d(x,5,3,data_format="channels_first")
"""

SNIPPETS["conv2d_transpose"] = """
x=tf.placeholder(tf.float32,[None,9,7,2],name="x")
y=tf.layers.conv2d_transpose(x,5,3,activation=tf.nn.relu)
y=tf.layers.conv2d_transpose(x,5,(3,2),strides=(2,3),padding="same",use_bias=False)
"""

SNIPPETS["conv3d_transpose"] = """
x=tf.placeholder(tf.float32,[None,9,7,7,2],name="x")
y=tf.layers.conv3d_transpose(x,5,3,activation=tf.nn.relu)
y=tf.layers.conv3d_transpose(x,5,3,strides=2,padding="same",use_bias=False)
"""

SNIPPETS["conv3d_transpose_channels_first"] = """
x=tf.placeholder(tf.float32,[None,2,9,7,7],name="x")
y=tf.layers.conv3d_transpose(x,5,3,data_format="channels_first")
"""

SNIPPETS["separable_conv2d"] = """
x=tf.placeholder(tf.float32,[None,9,7,2],name="x")
y=tf.layers.separable_conv2d(x,5,3,activation=tf.nn.relu)
y=tf.layers.separable_conv2d(x,5,3,depth_multiplier=2,strides=2,padding="same",use_bias=False)
y=tf.layers.separable_conv2d(x,5,3,dilation_rate=2,padding="same")
"""

SNIPPETS["separable_conv1d"] = """
x=tf.placeholder(tf.float32,[None,9,2],name="x")
y=tf.layers.separable_conv1d(x,5,3,activation=tf.nn.relu)
y=tf.layers.separable_conv1d(x,5,3,padding="same",dilation_rate=2,use_bias=False)
"""

SNIPPETS["flatten"] = """
x=tf.placeholder(tf.float32,[None,9,7,2],name="x")
tf.layers.flatten(x)
tf.layers.flatten(x,data_format="channels_first")
tf.layers.flatten(tf.placeholder(tf.float32,[3,2,2]))
tf.layers.flatten(tf.placeholder(tf.float32,[None]))
tf.layers.flatten(tf.placeholder(tf.float32,[3,None,2]))
tf.layers.flatten(tf.placeholder(tf.float32,[None,None,2]))
tf.contrib.layers.flatten(x)
tf.contrib.layers.flatten(tf.placeholder(tf.float32,[3,None,2]))
tf.contrib.layers.flatten(tf.placeholder(tf.float32,[3,2,2]))
"""

SNIPPETS["dropout"] = """
x=tf.placeholder(tf.float32,[None,9],name="x")
tf.layers.dropout(x)
tf.layers.dropout(x,training=True)
tf.layers.dropout(x,0.2,training=True,seed=4,noise_shape=[None,1])
"""

SNIPPETS["batch_normalization"] = """
x=tf.placeholder(tf.float32,[None,9,7,2],name="x")
tf.layers.batch_normalization(x)
tf.layers.batch_normalization(x,training=True)
tf.layers.batch_normalization(x,axis=1,training=True)
tf.layers.batch_normalization(x,axis=2,training=True)
tf.layers.batch_normalization(x,training=True,fused=False,scale=False)
tf.layers.batch_normalization(x,training=True,fused=True,scale=False,center=False,momentum=0.5)
"""

SNIPPETS["batch_normalization_ranks"] = """
x=tf.placeholder(tf.float32,[None,9],name="x")
tf.layers.batch_normalization(x)
tf.layers.batch_normalization(x,training=True,gamma_regularizer=lambda w: tf.reduce_sum(w))
tf.layers.batch_normalization(x,training=True,trainable=False)
b=tf.layers.BatchNormalization()
b(x,training=True); b(x,training=True)
out += [str(v) for v in [[u.name for u in b.updates],[v.name for v in b.variables],b.trainable,b.get_updates_for(x),
    b.get_updates_for(None)]]
tf.layers.batch_normalization(tf.placeholder(tf.float32,[4,3,5]),axis=[1,2],training=True)
tf.layers.batch_normalization(tf.placeholder(tf.float32,[4,3,5]),axis=1,training=True)
tf.layers.batch_normalization(tf.placeholder(tf.float32,[4,3,5]),axis=1,training=False)
tf.layers.batch_normalization(tf.placeholder(tf.float16,[4,3,5,2]),training=True)
tf.layers.batch_normalization(tf.placeholder(tf.float16,[4,3]),training=True)
"""

SNIPPETS["scopes"] = """
x=tf.placeholder(tf.float32,[None,9],name="x")
def getter(getter,*a,**k): return getter(*a,**k)
with tf.variable_scope("outer",custom_getter=getter,initializer=tf.constant_initializer(2.)):
    tf.layers.dense(x,2)
    tf.layers.dense(x,2)
    with tf.variable_scope("inner"):
        tf.layers.dense(x,2,name="q")
        tf.layers.dense(x,2)
with tf.variable_scope("outer",reuse=True):
    tf.layers.dense(x,2)
    tf.layers.dense(x,2)
with tf.variable_scope("outer",reuse=tf.AUTO_REUSE):
    tf.layers.dense(x,2,name="new")
    tf.layers.dense(x,2,name="new")
tf.layers.dense(x,4,kernel_initializer=tf.zeros_initializer(),kernel_constraint=lambda v:v)
tf.layers.dense(x,4,name="new",reuse=tf.AUTO_REUSE)
tf.layers.dense(x,4,trainable=False)
with tf.variable_scope("part",partitioner=tf.fixed_size_partitioner(2)):
    tf.layers.dense(x,4)
tf.layers.dense(tf.cast(x,tf.float64),4)
with tf.variable_scope("res",use_resource=True):
    tf.layers.dense(x,4)
"""

SNIPPETS["scopes2"] = """
x=tf.placeholder(tf.float32,[None,9],name="x")
d=tf.layers.Dense(2)
d(x)
with tf.name_scope("other"): d(x)
with tf.variable_scope("vs"):
    d(x)
    d4=tf.layers.Dense(2)
d4(x)
d3=tf.layers.Dense(2,name="n")
with tf.variable_scope("vs"): d3(x)
with tf.variable_scope("vs",reuse=True): e=tf.layers.dense(x,2,name="n",kernel_regularizer=tf.nn.l2_loss)
with tf.variable_scope("vs") as s:
    pass
with tf.variable_scope("vq") as s: pass
tf.layers.Dense(3,_scope=s)(x)
tf.layers.Dense(3,_scope="ww",_reuse=None)(x)
tf.layers.Dense(3,_scope="ww",_reuse=True)(x)
tf.layers.dense(x,3,kernel_regularizer=tf.nn.l2_loss,name="rr")
r=tf.layers.Dense(3,kernel_regularizer=tf.nn.l2_loss,name="rr2",activity_regularizer=tf.nn.l2_loss); r(x)
r(x)
out += [str(v) for v in [r.losses, r.get_losses_for(x), r.get_losses_for(None)]]
"""

SNIPPETS["pooling"] = """
x=tf.placeholder(tf.float32,[None,9,7,2],name="x")
y=tf.layers.average_pooling2d(x,2,2,data_format="channels_first",padding="same")
x=tf.placeholder(tf.float32,[None,9,7],name="x")
y=tf.layers.max_pooling1d(x,3,2)
y=tf.layers.average_pooling1d(x,3,2,padding="same")
y=tf.layers.average_pooling1d(x,3,2,data_format="channels_first")
x=tf.placeholder(tf.float32,[None,9,7,8,2],name="x")
y=tf.layers.max_pooling3d(x,3,2)
y=tf.layers.average_pooling3d(x,3,2,padding="same")
y=tf.layers.average_pooling3d(x,2,2,data_format="channels_first")
"""

SNIPPETS["losses_reductions"] = """
p=tf.placeholder(tf.float32,[None,3],name="p"); l=tf.placeholder(tf.float32,[None,3],name="l")
tf.losses.mean_squared_error(l,p)
tf.losses.mean_squared_error(l,p,weights=2.0,scope="foo")
tf.losses.mean_squared_error(l,p,reduction=tf.losses.Reduction.NONE)
tf.losses.mean_squared_error(l,p,reduction=tf.losses.Reduction.SUM,loss_collection=None)
tf.losses.mean_squared_error(l,p,reduction=tf.losses.Reduction.MEAN)
tf.losses.mean_squared_error(l,p,reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE)
tf.losses.mean_squared_error(l,p,reduction=tf.losses.Reduction.SUM_OVER_NONZERO_WEIGHTS,weights=0.5)
"""

SNIPPETS["losses_weights"] = """
p=tf.placeholder(tf.float32,[4,3],name="p"); l=tf.placeholder(tf.float32,[4,3],name="l")
tf.losses.mean_squared_error(l,p,weights=tf.ones([4,1]))
tf.losses.mean_squared_error(l,p,weights=tf.ones([4,3]))
tf.losses.mean_squared_error(l,p,weights=[[1.,2.,3.]])
tf.losses.mean_squared_error(l,p,weights=np.ones([4,1]))
tf.losses.absolute_difference(l,p,weights=1)
"""

SNIPPETS["losses_of_numbers"] = """
p=tf.placeholder(tf.float32,[4,3],name="p"); l=tf.placeholder(tf.float32,[4,3],name="l")
tf.losses.absolute_difference(l,p)
tf.losses.cosine_distance(l,p,axis=1)
tf.losses.cosine_distance(l,p,dim=1)
tf.losses.hinge_loss(l,p)
tf.losses.huber_loss(l,p,delta=2.0)
tf.losses.log_loss(l,p)
tf.losses.mean_pairwise_squared_error(l,p)
"""

SNIPPETS["losses_pairwise"] = """
p=tf.placeholder(tf.float32,[4,3],name="p"); l=tf.placeholder(tf.float32,[4,3],name="l")
tf.losses.mean_pairwise_squared_error(l,p,weights=tf.ones([4,1]))
tf.losses.mean_pairwise_squared_error(l,p,weights=3.0)
"""

SNIPPETS["losses_cross_entropy"] = """
p=tf.placeholder(tf.float32,[4,3],name="p"); l=tf.placeholder(tf.float32,[4,3],name="l")
tf.losses.sigmoid_cross_entropy(l,p)
tf.losses.sigmoid_cross_entropy(l,p,label_smoothing=0.1)
tf.losses.softmax_cross_entropy(l,p)
tf.losses.softmax_cross_entropy(l,p,label_smoothing=0.1)
tf.losses.softmax_cross_entropy(tf.cast(l,tf.int32),p,weights=tf.ones([4]))
y=tf.placeholder(tf.int32,[4]); y1=tf.placeholder(tf.int64,[4,1])
tf.losses.sparse_softmax_cross_entropy(y,p)
tf.losses.sparse_softmax_cross_entropy(y1,p)
tf.losses.sparse_softmax_cross_entropy(y,p,weights=tf.ones([4]))
tf.losses.sparse_softmax_cross_entropy(y,p,weights=tf.ones([4,1]))
tf.losses.sparse_softmax_cross_entropy(labels=[0,1,2,2],logits=p)
"""

SNIPPETS["losses_cross_entropy_dynamic"] = """
p=tf.placeholder(tf.float32,[None,3],name="p")
tf.losses.sparse_softmax_cross_entropy(tf.placeholder(tf.int32,[None]),p)
tf.losses.sparse_softmax_cross_entropy(tf.placeholder(tf.int64,[None,1]),p)
tf.losses.softmax_cross_entropy(tf.placeholder(tf.float32,[None,3]),p)
"""

SNIPPETS["losses_totals"] = """
tf.losses.add_loss(tf.constant(1.0)); tf.losses.add_loss(tf.constant(2.0),loss_collection=None)
out += [str(v) for v in [tf.losses.get_losses(), tf.losses.get_regularization_losses()]]
out += [str(v) for v in [tf.losses.get_total_loss()]]
out += [str(v) for v in [tf.losses.get_regularization_loss()]]
tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(3.0))
tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(3.0))
out += [str(v) for v in [tf.losses.get_total_loss(), tf.losses.get_regularization_loss(),
    tf.losses.get_total_loss(False)]]
out.append(text(lambda: tf.losses.get_total_loss(name="q", scope="zz")))
"""

SNIPPETS["losses_compute"] = """
x=tf.placeholder(tf.float32,[4,3])
tf.losses.compute_weighted_loss(x)
tf.losses.compute_weighted_loss(x,weights=2,scope="sc")
tf.losses.compute_weighted_loss(tf.placeholder(tf.float64,[2]),weights=[1.,2.])
tf.losses.compute_weighted_loss(tf.placeholder(tf.int32,[2]),weights=[1.,2.])
with tf.control_dependencies([tf.no_op()]): tf.losses.compute_weighted_loss(x,loss_collection="c")
out += [str(v) for v in [tf.losses.Reduction.all(), tf.losses.Reduction.MEAN, tf.losses.Reduction.SUM,
    tf.losses.Reduction.NONE]]
"""

SNIPPETS["metrics_accuracy"] = """
l=tf.placeholder(tf.int64,[4],name="l"); p=tf.placeholder(tf.int64,[4],name="p")
out.append(str(tf.metrics.accuracy(l,p)))
out.append(str(tf.metrics.accuracy(l,p,weights=tf.ones([4]),name="named")))
tf.metrics.accuracy(l,p,metrics_collections=["m"],updates_collections=["u"])
tf.metrics.accuracy(tf.cast(l,tf.int32),tf.cast(p,tf.float32))
"""

SNIPPETS["metrics_mean"] = """
v=tf.placeholder(tf.float32,[None,3],name="v")
tf.metrics.mean(v)
tf.metrics.mean(v,weights=2.0)
tf.metrics.mean(tf.placeholder(tf.float32,[2,3]),weights=tf.ones([2,1]))
tf.metrics.mean([1.0,2.0])
tf.metrics.mean(tf.placeholder(tf.int32,[]))
"""

SNIPPETS["metrics_errors"] = """
l=tf.placeholder(tf.float32,[4,2],name="l"); p=tf.placeholder(tf.float32,[4,2],name="p")
tf.metrics.mean_squared_error(l,p)
tf.metrics.mean_absolute_error(l,p)
tf.metrics.root_mean_squared_error(l,p)
"""

SNIPPETS["metrics_counts"] = """
l=tf.placeholder(tf.bool,[4],name="l"); p=tf.placeholder(tf.bool,[4],name="p")
tf.metrics.true_positives(l,p)
tf.metrics.false_positives(l,p)
tf.metrics.false_negatives(l,p)
tf.metrics.true_negatives(l,p)
tf.metrics.precision(l,p)
tf.metrics.recall(l,p)
tf.metrics.recall(tf.placeholder(tf.int32,[4]),tf.placeholder(tf.int32,[4]),weights=tf.ones([4]))
"""

SNIPPETS["checks"] = """
x = tf.placeholder(tf.int32, None, name="x")
tf.assert_rank(x, 2)
tf.assert_rank_at_least(x, 2)
tf.assert_rank_in(x, [1, 2])
x = tf.constant([1, 2])
tf.assert_type(x, tf.int32)
tf.assert_integer(x)
tf.assert_scalar(tf.constant(1))
tf.assert_equal(x, x)
out.append(text(lambda: tf.assert_rank(tf.placeholder(tf.int32,[2],name="x"),2)))
out.append(text(lambda: tf.assert_rank_at_least(tf.placeholder(tf.int32,[2],name="x"),2,message="m")))
out.append(text(lambda: tf.assert_rank_in(tf.placeholder(tf.int32,[2],name="x"),[0,2])))
out.append(text(lambda: tf.assert_type(tf.placeholder(tf.int32,[2],name="x"),tf.float32)))
out.append(text(lambda: tf.assert_equal(tf.constant([1]),tf.constant([2]))))
out.append(text(lambda: tf.assert_integer(tf.constant(1.0))))
out.append(text(lambda: tf.assert_scalar(tf.constant([1.0]))))
out.append(text(lambda: tf.assert_less(tf.constant([1]),[0],message="mm")))
out.append(text(lambda: tf.assert_positive(tf.constant([-1]))))
"""

SNIPPETS["errors"] = """
out.append(text(lambda: tf.layers.dense(tf.placeholder(tf.float32,[None,None]),2,name="a")))
out.append(text(lambda: tf.layers.conv2d(tf.placeholder(tf.float32,[None,2]),2,3)))
d=tf.layers.Dense(2)
d(tf.placeholder(tf.float32,[None,2]))
out.append(text(lambda: d(tf.placeholder(tf.float32,[None,3]))))
out.append(text(lambda: tf.layers.conv2d(tf.placeholder(tf.float32,[None,2,3,4]),2,3,padding="foo")))
out.append(text(lambda: tf.layers.conv2d(tf.placeholder(tf.float32,[None,2,3,4]),2,3,data_format="foo")))
out.append(text(lambda: tf.layers.conv2d(tf.placeholder(tf.float32,[None,2,3,4]),2,(3,2,1))))
out.append(text(lambda: tf.layers.conv2d(tf.placeholder(tf.float32,[None,2,3,None]),2,(3,2))))
out.append(text(lambda: tf.layers.dense(tf.placeholder(tf.float32,None),2,name="a")))
out.append(text(lambda: tf.losses.compute_weighted_loss(tf.placeholder(tf.float32,[4,3]),weights=tf.ones([2,3]))))
out.append(text(lambda: tf.losses.compute_weighted_loss(tf.placeholder(tf.float32,[4,3]),weights=tf.ones([3]))))
out.append(text(lambda: tf.losses.mean_squared_error(None,tf.placeholder(tf.float32,[4,3]))))
out.append(text(lambda: tf.losses.mean_squared_error(tf.placeholder(tf.float32,[4,2]),tf.placeholder(tf.float32,[4,
    3]))))
out.append(text(lambda: tf.losses.compute_weighted_loss(tf.placeholder(tf.float32,[4,3]),reduction="foo")))
out.append(text(lambda: tf.losses.softmax_cross_entropy(tf.placeholder(tf.float32,[4,2]),tf.placeholder(tf.float32,
    [4,3]))))
out.append(text(lambda: tf.losses.sparse_softmax_cross_entropy(None,tf.placeholder(tf.float32,[4,3]))))
out.append(text(lambda: tf.losses.sigmoid_cross_entropy(tf.placeholder(tf.float32,[4,2]),None)))
out.append(text(lambda: tf.losses.cosine_distance(tf.placeholder(tf.float32,[4,2]),tf.placeholder(tf.float32,[4,2]))))
out.append(text(lambda: tf.losses.compute_weighted_loss(tf.placeholder(tf.float32,[4,3]),weights=tf.ones([4,3,1]))))
"""


def main():
    tf.logging.set_verbosity(tf.logging.ERROR)
    facts = {name: dict(run(tf, source), source=source) for name, source in SNIPPETS.items()}
    canonical.write_table("layer_graphs.json", facts)


if __name__ == "__main__":
    main()
