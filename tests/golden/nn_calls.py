"""Calls of tf.nn functions, made once with TensorFlow for the golden file and again by the test."""

# ruff: noqa: E501  (a call is a line)

CALLS = """
[getattr(tf.nn, n)(p(2, 3)) for n in "relu relu6 elu selu leaky_relu softplus softsign softmax log_softmax crelu".split()]
[getattr(tf.nn, n)([[1.0]], name="n") for n in "relu relu6 elu selu leaky_relu softplus softsign softmax log_softmax crelu".split()]
tf.nn.leaky_relu([1, 2], alpha=0.3)
tf.nn.softmax(p(2, 3, 4), axis=1)
tf.nn.softmax(p(2, 3, 4), axis=-2)
tf.nn.softmax(p(2, 3, 4), axis=5)
tf.nn.softmax(p())
tf.nn.log_softmax(p(2, None, 4), dim=0, name="ls")
tf.nn.softmax_cross_entropy_with_logits_v2(labels=p(2, 3), logits=p(2, 3))
tf.nn.softmax_cross_entropy_with_logits_v2(labels=p(2, 3, 4), logits=p(2, 3, 4), axis=1, name="q")
tf.nn.softmax_cross_entropy_with_logits_v2(labels=p(None, None, 4), logits=p(None, None, 4))
tf.nn.softmax_cross_entropy_with_logits_v2(labels=p(2, 3, dtype="float16"), logits=p(2, 3, dtype="float16"))
tf.nn.softmax_cross_entropy_with_logits(labels=p(2, 3), logits=p(2, 3))
tf.nn.softmax_cross_entropy_with_logits(p(2, 3), p(2, 3))
tf.nn.softmax_cross_entropy_with_logits(labels=p(2, 3))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=p(2, dtype="int32"), logits=p(2, 3))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=p(None, dtype="int64"), logits=p(None, 3, dtype="float16"), name="u")
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=p(2, 5, dtype="int32"), logits=p(2, 5, 3))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=p(2, 3, dtype="int32"), logits=p(2, 4))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=p(3, dtype="int32"), logits=p(2, 4))
tf.nn.sigmoid_cross_entropy_with_logits(labels=p(2, 3), logits=p(2, 3))
tf.nn.sigmoid_cross_entropy_with_logits(labels=p(2, 3), logits=p(2, 4))
tf.nn.weighted_cross_entropy_with_logits(p(2, 3), p(2, 3), 2.0)
tf.nn.log_poisson_loss(p(3, 2), p(3, 2), True)
[tf.nn.bias_add(p(3, 2), p(2)), tf.nn.bias_add(p(3, 2, 4, 5), p(2), data_format="NCHW", name="b")]
tf.nn.bias_add(p(3, 2), p(3))
tf.nn.bias_add(p(3, 2), p(2), data_format="HWC")
[tf.nn.xw_plus_b(p(3, 2), p(2, 4), p(4)), tf.nn.relu_layer(p(3, 2), p(2, 4), p(4), name="a")]
[tf.nn.l2_loss(p(3)), tf.nn.l2_normalize(p(3, 2), 1), tf.nn.l2_normalize(p(3, 2), dim=[0, 1], name="q")]
[tf.nn.dropout(p(3, 2), rate=0.3), tf.nn.dropout(p(None, 2), 0.5, seed=3), tf.nn.dropout(p(None, 2), p())]
[tf.nn.dropout(p(3, 2, dtype="float16"), 0.5, noise_shape=[None, 1]), tf.nn.dropout(p(3, 2), 1.0)]
tf.nn.dropout(p(3, 2), rate=1.0)
tf.nn.dropout(p(3, 2), 0.5, rate=0.5)
tf.nn.dropout(p(3, 2))
[tf.nn.moments(p(3, 2), [0]), tf.nn.moments(p(3, 2, dtype="float16"), [0], keep_dims=True)]
tf.nn.weighted_moments(p(3, 2), [0], p(3, 1))
[tf.nn.sufficient_statistics(p(3, 2), [0]), tf.nn.sufficient_statistics(p(None, 2), [0], shift=p(2), keep_dims=True)]
tf.nn.normalize_moments(p(), p(2), p(2), p(2))
[tf.nn.batch_normalization(p(3, 2), p(2), p(2), p(2), p(2), 1e-3), tf.nn.batch_normalization(p(3, 2), p(2), p(2), None, None, 1e-3)]
[tf.nn.fused_batch_norm(p(3, 2, 2, 2), p(2), p(2)), tf.nn.fused_batch_norm(p(3, 2, 2, 2), p(2), p(2), p(2), p(2), 1e-6, "NCHW", False)]
tf.nn.fused_batch_norm(p(3, 2, 2, 2), p(2), p(2), p(2), p(2))
[tf.nn.top_k(p(3, 2)), tf.nn.top_k(p(3, 2), k=2, sorted=False, name="n"), tf.nn.in_top_k(p(3, 2), p(3, dtype="int32"), 2)]
tf.nn.conv2d(p(1, 8, 8, 3), p(3, 3, 3, 4), strides=2, padding=[[0, 0], [1, 1], [2, 0], [0, 0]], dilations=2)
tf.nn.conv2d(p(1, 3, 8, 8), filters=p(3, 3, 3, 4), data_format="NCHW", strides=[2], padding="VALID", dilations=[1, 2], name="q")
tf.nn.conv2d(p(1, 8, 8, 3), p(3, 3, 5, 4), strides=1, padding="VALID")
tf.nn.conv2d(p(1, 2, 8, 3), p(3, 3, 3, 4), strides=1, padding="VALID")
tf.nn.conv2d(p(1, 8, 8, 3), p(3, 3, 3, 4), strides=[1, 2, 3], padding="VALID")
tf.nn.conv2d(p(8, 8, 3), p(3, 3, 3, 4), strides=1, padding="VALID")
tf.nn.conv2d(p(2, 8, 8, 3), p(3, 3, 3, 4), strides=1, padding=[[0, 0], [1, 1]])
[tf.nn.conv2d_transpose(p(1, 8, 8, 3), p(3, 3, 5, 3), [1, 16, 16, 5], 2), tf.nn.conv2d_transpose(p(1, 3, 8, 8), p(3, 3, 5, 3), [1, 5, 8, 8], 1, data_format="NCHW", name="n")]
[tf.nn.depthwise_conv2d(p(None, 8, 8, 3), p(3, 3, 3, 2), [1, 2, 2, 1], "SAME"), tf.nn.depthwise_conv2d(p(None, 8, 8, 3), p(3, 3, 3, 2), [1, 1, 1, 1], "SAME", rate=[2, 2])]
tf.nn.separable_conv2d(p(None, 8, 8, 3), p(3, 3, 3, 2), p(1, 1, 6, 7), [1, 1, 1, 1], "SAME", rate=[2, 3], name="s")
[tf.nn.atrous_conv2d(p(None, 8, 8, 3), p(3, 3, 3, 2), 2, "SAME"), tf.nn.atrous_conv2d(p(None, 8, 8, 3), p(3, 3, 3, 2), 1, "VALID")]
[tf.nn.convolution(p(None, 8, 3), p(3, 3, 2), "SAME"), tf.nn.convolution(p(None, 8, 3), p(3, 3, 2), "VALID", dilation_rate=[2])]
tf.nn.convolution(p(None, 8, None, 3), p(3, 3, 3, 2), "SAME", dilation_rate=[2, 1], name="my")
tf.nn.convolution(p(None, 3, 8, 8), p(3, 3, 3, 2), "SAME", dilation_rate=[3, 2], data_format="NCHW")
tf.nn.convolution(p(None, 8, 8, 8, 3), p(3, 3, 3, 3, 2), "SAME", dilation_rate=[2, 2, 2])
tf.nn.convolution(p(None, 8, 8, 3), p(3, 3, 3, 2), "SAME", strides=[2, 2], dilation_rate=[2, 2])
[tf.nn.conv1d(p(None, 8, 3), p(3, 3, 2), 2, "SAME"), tf.nn.conv1d(p(None, 3, 8), p(3, 3, 2), 1, "VALID", data_format="NCW", name="a")]
[tf.nn.conv1d_transpose(p(4, 8, 3), p(3, 2, 3), [4, 16, 2], 2), tf.nn.conv_transpose(p(4, 8, 3), p(3, 2, 3), [4, 16, 2], 2)]
[tf.nn.conv3d(p(None, 8, 8, 8, 3), p(3, 3, 3, 3, 2), [1] * 5, "SAME"), tf.nn.conv3d_transpose(p(1, 8, 8, 8, 3), p(3, 3, 3, 2, 3), [1, 16, 16, 16, 2], [1, 2, 2, 2, 1])]
[tf.nn.max_pool(p(1, 8, 8, 3), 2, 2, "VALID"), tf.nn.avg_pool(p(1, 8, 8, 3), [2, 3], [1], "VALID", name="u"), tf.nn.max_pool2d(p(1, 8, 8, 3), 2, 2, "VALID")]
[tf.nn.avg_pool1d(p(1, 8, 3), 2, 2, "VALID"), tf.nn.max_pool1d(p(1, 8, 3), 2, 2, "VALID"), tf.nn.avg_pool_v2(p(1, 8, 3), 2, 2, "VALID")]
[tf.nn.max_pool3d(p(1, 8, 8, 8, 3), 2, 2, "VALID"), tf.nn.avg_pool_v2(p(1, 3, 8, 8), 2, 2, "VALID", data_format="NCHW")]
[tf.nn.pool(p(1, 8, 8, 3), [2, 2], "MAX", "VALID", strides=[2, 2]), tf.nn.pool(p(1, 8, 8, 3), [2, 2], "AVG", "VALID", dilation_rate=[2, 1])]
tf.nn.pool(p(1, 8, 8, 3), [2, 2], "AVG", "SAME", dilation_rate=[2, 1])
tf.nn.max_pool(p(1, 8, 8, 3), 20, 2, "VALID")
tf.nn.max_pool(p(1, 8, 8, 3), 2, 2, "valid")
tf.nn.max_pool_with_argmax(p(None, 8, 8, 3), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
tf.nn.lrn(p(None, 8, 8, 3), 4, 1.0, 0.001 / 9, 0.75)
tf.nn.embedding_lookup(np.ones((4, 2), np.float32), [1, 2])
tf.nn.embedding_lookup(p(4, 2), p(3, dtype="int32"), max_norm=1.0)
tf.nn.embedding_lookup([p(4, 2), p(3, 2)], p(3, 5, dtype="int64"), "div", max_norm=1.0)
tf.nn.embedding_lookup([p(None, None), p(None, None)], p(None, dtype="int32"), name="ee")
tf.nn.embedding_lookup([p(2, 2), p(2, 2)], [1], "foo")
tf.nn.embedding_lookup([], [1])
tf.nn.nce_loss(p(9, 4), p(9), p(None, 1, dtype="int32"), p(None, 4), 3, 9)
tf.nn.nce_loss([p(5, 4), p(4, 4)], p(9), p(6, 2, dtype="int64"), p(6, 4), 3, 9, num_true=2, remove_accidental_hits=True, partition_strategy="div", name="n")
tf.nn.sampled_softmax_loss(p(9, 4), p(9), p(None, 1, dtype="int64"), p(None, 4), 3, 9, seed=5)
tf.nn.sampled_softmax_loss(p(9, 4), p(9), p(2, 1, dtype="int64"), p(2, 4), 3, 9, sampled_values=tf.nn.uniform_candidate_sampler(p(2, 1, dtype="int64"), 1, 3, True, 9, name="u"))
[tf.nn.learned_unigram_candidate_sampler(p(2, 1, dtype="int64"), 1, 3, True, 9), tf.nn.all_candidate_sampler(p(2, 1, dtype="int64"), 1, 3, True)]
tf.nn.fixed_unigram_candidate_sampler(p(2, 1, dtype="int64"), 1, 3, True, 3, unigrams=[1.0, 2.0, 3.0], seed=4)
grad(tf.nn.relu, p(2, 3))
grad(tf.nn.relu6, p(2, 3))
grad(tf.nn.elu, p(2, 3))
grad(tf.nn.selu, p(2, 3))
grad(tf.nn.leaky_relu, p(2, 3))
grad(tf.nn.softplus, p(2, 3))
grad(tf.nn.softsign, p(2, 3))
grad(lambda x, w: tf.nn.conv2d(x, w, strides=2, padding="SAME"), p(None, 8, 8, 3), p(3, 3, 3, 4))
grad(lambda x, w: tf.nn.depthwise_conv2d_native(x, w, [1, 2, 2, 1], "SAME"), p(None, 8, 8, 3), p(3, 3, 3, 4))
grad(lambda x, w: tf.nn.conv3d(x, w, [1, 2, 2, 2, 1], "SAME"), p(None, 8, 8, 8, 3), p(3, 3, 3, 3, 4))
grad(lambda x: tf.nn.max_pool(x, 2, 2, "SAME"), p(None, 8, 8, 3))
grad(lambda x: tf.nn.avg_pool(x, 2, 2, "SAME"), p(None, 8, 8, 3))
grad(lambda x: tf.nn.max_pool3d(x, 2, 2, "SAME"), p(None, 8, 8, 8, 3))
grad(lambda x: tf.nn.avg_pool3d(x, 2, 2, "SAME"), p(None, 8, 8, 8, 3))
grad(lambda x: tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")[0], p(None, 8, 8, 3))
grad(lambda x: tf.nn.lrn(x, name="k"), p(None, 8, 8, 3))
grad(tf.nn.bias_add, p(3, 2), p(2))
grad(tf.nn.bias_add, p(None, 2), p(2))
grad(lambda x, b: tf.nn.bias_add(x, b, data_format="NCHW"), p(3, 2, 4, 5), p(2))
grad(lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=p(None, dtype="int32"), logits=x), p(None, 3))
grad(lambda x: tf.nn.top_k(x, 2)[0], p(3, 4))
grad(lambda x: tf.nn.dropout(x, 0.5, seed=1), p(None, 3))
grad(lambda x, s, o: tf.nn.fused_batch_norm(x, s, o)[0], p(None, 4, 4, 2), p(2), p(2))
tf.nn.ctc_loss(tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int32"),p(2,dtype="int64")), p(5,2,4), p(2,dtype="int32"))
tf.nn.ctc_loss(tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int32"),p(2,dtype="int64")), logits=p(2,5,4), sequence_length=p(2,dtype="int32"), time_major=False)
grad(lambda x: tf.nn.ctc_loss(tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int32"),p(2,dtype="int64")), x, p(2,dtype="int32")), p(5,2,4))
tf.nn.ctc_loss(p(2,3), p(5,2,4), p(2,dtype="int32"))
tf.nn.ctc_greedy_decoder(p(5,2,4), p(2,dtype="int32"))
tf.nn.ctc_greedy_decoder(p(5,None,4), p(None,dtype="int32"), False)
tf.nn.ctc_beam_search_decoder(p(5,2,4), p(2,dtype="int32"))
tf.nn.ctc_beam_search_decoder(p(5,2,4), p(2,dtype="int32"), 10, 2, False)
tf.nn.ctc_beam_search_decoder_v2(p(5,2,4), p(2,dtype="int32"), 10, 2)
tf.nn.collapse_repeated(p(2,3,dtype="int32"), p(2,dtype="int32"))
tf.nn.ctc_loss_v2(tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int32"),p(2,dtype="int64")), p(5,2,4), None, p(2,dtype="int32"))
tf.nn.ctc_loss_v2(tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int32"),p(2,dtype="int64")), p(5,2,4), None, p(2,dtype="int32"), blank_index=-1)
tf.nn.ctc_loss_v2(tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int32"),p(2,dtype="int64")), p(5,2,4), None, p(2,dtype="int32"), blank_index=0)
tf.nn.ctc_loss_v2(tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int32"),p(2,dtype="int64")), p(5,2,4), None, p(2,dtype="int32"), blank_index=2)
tf.nn.ctc_loss_v2(tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int32"),p(2,dtype="int64")), p(2,5,4), None, p(2,dtype="int32"), blank_index=2, logits_time_major=False)
tf.nn.dilation2d(p(None,8,8,3), p(3,3,3), [1,1,1,1], [1,1,1,1], "SAME")
tf.nn.dilation2d(p(None,8,8,3), filters=p(3,3,3), strides=[1,2,2,1], dilations=[1,2,1,1], padding="VALID", name="q")
tf.nn.erosion2d(p(None,8,8,3), p(3,3,3), [1,1,1,1], [1,1,1,1], "SAME")
grad(lambda x,f: tf.nn.dilation2d(x, f, [1,1,1,1], [1,1,1,1], "SAME"), p(None,8,8,3), p(3,3,3))
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,3), [2,9,9,5], 2, "SAME")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,3), [2,8,8,5], 2, "VALID", name="z")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,3), [2,8,8,5], 1, "SAME")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,3), p(4,dtype="int32"), 2, "SAME")
tf.nn.safe_embedding_lookup_sparse([p(9,4)], tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int64"),p(2,dtype="int64")))
tf.nn.safe_embedding_lookup_sparse(p(9,4), tf.SparseTensor(p(None,3,dtype="int64"),p(None,dtype="int64"),p(3,dtype="int64")), tf.SparseTensor(p(None,3,dtype="int64"),p(None),p(3,dtype="int64")), "sum", default_id=3, name="r", max_norm=1.0)
tf.nn.safe_embedding_lookup_sparse([p(5,4),p(4,4)], tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int64"),p(2,dtype="int64")), combiner="sqrtn", partition_strategy="mod")
tf.nn.safe_embedding_lookup_sparse(None, tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int64"),p(2,dtype="int64")))
tf.nn.compute_average_loss(p(4), p(4), 8)
tf.nn.compute_average_loss(p(4))
tf.nn.scale_regularization_loss(p(4))
tf.nn.batch_norm_with_global_normalization(p(3,4,4,2), p(2), p(2), p(2), p(2), 0.01, True)
tf.nn.batch_norm_with_global_normalization(p(3,4,4,2), p(2), p(2), p(2), p(2), 0.01, False, name="h")
tf.nn.atrous_conv2d_transpose(p(None,None,None,3), p(3,3,5,3), tf.stack([p(dtype="int32"),9,9,5]), 2, "SAME")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,3), [2,12,12,5], 2, "VALID")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(4,3,5,3), [2,8,8,5], 2, "SAME")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,4), [2,8,8,5], 2, "SAME")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,3), [2,8,8,5], 0, "SAME")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,3), [2,8,8,5], 2, "X")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,3), [2,8,8], 2, "SAME")
tf.nn.atrous_conv2d_transpose(p(2,8,8,3), p(3,3,5,3), [2,8,8,6], 2, "SAME")
tf.nn.safe_embedding_lookup_sparse([p(9,4)], tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int64"),p(2,dtype="int64")), combiner="x")
tf.nn.safe_embedding_lookup_sparse([p(9,4)], tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int64"),p(2,dtype="int64")), tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="float64"),p(2,dtype="int64")))
tf.nn.safe_embedding_lookup_sparse([], tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int64"),p(2,dtype="int64")))
tf.nn.safe_embedding_lookup_sparse([tf.get_variable("w",[9,4],use_resource=True)], tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int32"),p(2,dtype="int64")), tf.SparseTensor(p(None,2,dtype="int64"),p(None),p(2,dtype="int64")))
tf.nn.safe_embedding_lookup_sparse([p(9,4)], p(3,3))
tf.nn.dilation2d(p(None,8,8,3), p(3,3,3), filters=p(3,3,3), strides=[1,1,1,1], rates=[1,1,1,1], padding="SAME")
tf.nn.dilation2d(p(None,8,8,3), p(3,3,3), [1,1,1,1], padding="SAME")
tf.nn.dilation2d(p(None,8,8,3), p(3,3,2), [1,1,1,1], [1,1,1,1], padding="SAME")
tf.nn.dilation2d(p(None,8,8,3), p(9,3,3), [1,1,1,1], [1,1,1,1], padding="VALID")
tf.nn.dilation2d(p(None,8,8,3), p(3,3,3), [1,0,1,1], [1,1,1,1], padding="VALID")
tf.nn.dilation2d(p(None,8,8,3), p(3,3,3), [2,1,1,1], [1,1,1,1], padding="VALID")
tf.nn.dilation2d(p(None,8,8,3), p(3,3,3), [1,1,1,1], [1,0,1,1], padding="VALID")
tf.nn.dilation2d(p(None,8,8,3), p(3,3,3), [1,1,1,1], [1,1,1,2], padding="VALID")
tf.nn.dilation2d(p(None,8,8,3), p(3,3,3), [1,1,1], [1,1,1,1], padding="VALID")
tf.nn.dilation2d(p(None,8,8,3), p(3,3,3), [1,1,1,1,1], [1,1,1,1], padding="VALID")
tf.nn.dilation2d(p(8,8,3), p(3,3,3), [1,1,1,1], [1,1,1,1], padding="VALID")
tf.nn.dilation2d(p(None,8,None,None), p(3,None,3), [1,2,2,1], [1,1,1,1], padding="VALID")
tf.nn.erosion2d(p(None,8,8,3), p(3,3,3), [1,2,1,1], [1,1,2,1], "VALID", name="w")
tf.nn.collapse_repeated(p(None,None,dtype="int32"), p(None,dtype="int64"))
tf.nn.atrous_conv2d_transpose(p(None,None,None,3), p(3,3,5,3), p(4,dtype="int32"), 3, "VALID")
tf.nn.safe_embedding_lookup_sparse([p(9,4)], tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int64"),p(None,dtype="int64")))
""".strip().split("\n")


def build(tf, np, call):
    """Makes the call in a new graph; returns the graph and, if it was refused, the error."""
    graph = tf.Graph()

    def p(*shape, dtype="float32"):
        return tf.placeholder(dtype, shape, name="p")

    def grad(function, *xs):
        y = function(*xs)
        dy = tf.placeholder(y.dtype, y.shape, name="dy")
        first = [g for g in tf.gradients(y, list(xs), dy) if g is not None]
        seeds = [tf.placeholder(g.dtype, g.shape, name="d") for g in first]
        try:
            tf.gradients(first, [dy, *xs], seeds, name="second")
        except LookupError:
            pass

    with graph.as_default():
        try:
            eval(call, {"tf": tf, "np": np, "p": p, "grad": grad})
        except Exception as e:
            return graph, f"{type(e).__name__}: {e}"
    return graph, None


def plain(value):
    """Returns an attr's value as JSON can hold it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "as_numpy_dtype"):
        return value.name
    return value if isinstance(value, (bool, int, float)) else str(value).split("\n")[0]


def row(operation, attrs):
    """Returns a node as one line, with the shapes of its outputs."""
    attrs.pop("shape", None)  # a placeholder's, which its output's shape says too
    inputs = ", ".join(_bare(t.name) for t in operation.inputs)
    after = (
        " ^" + " ^".join(sorted(c.name for c in operation.control_inputs)) if operation.control_inputs else ""
    )
    said = "".join(f" {k}={v}" for k, v in sorted(attrs.items()))
    shapes = ", ".join(str(t.shape) for t in operation.outputs)
    return f"{operation.type} {operation.name}({inputs}){after}{said} -> {shapes}"


def _bare(name):
    return name[:-2] if name.endswith(":0") else name
