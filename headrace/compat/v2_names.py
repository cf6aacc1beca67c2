"""Which names of tf.compat.v2 are other objects than tf's own: public module -> names.

All other names of tf.compat.v2 in TensorFlow 1.15 are the very objects of tf. Names only, asked from TensorFlow.
"""

_BY_MODULE = {
    "": (
        "DeviceSpec Variable VariableAggregation argmax argmin assert_equal assert_greater assert_less "
        "assert_rank batch_to_space boolean_mask case cond constant constant_initializer convert_to_tensor "
        "device expand_dims gather gather_nd gradients hessians name_scope norm ones_initializer ones_like "
        "pad random_normal_initializer random_uniform_initializer reduce_all reduce_any reduce_logsumexp "
        "reduce_max reduce_mean reduce_min reduce_prod reduce_sum reverse_sequence scalar_mul shape size "
        "space_to_batch squeeze transpose tuple variable_creator_scope where while_loop zeros_initializer "
        "zeros_like"
    ),
    "autograph": "to_code to_graph",
    "data": "Dataset FixedLengthRecordDataset TFRecordDataset TextLineDataset",
    "data.experimental": (
        "Counter CsvDataset RandomDataset SqlDataset StatsAggregator choose_from_datasets "
        "make_batched_features_dataset make_csv_dataset sample_from_datasets"
    ),
    "debugging": (
        "assert_all_finite assert_equal assert_greater assert_greater_equal assert_integer assert_less "
        "assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
        "assert_none_equal assert_positive assert_rank assert_rank_at_least assert_rank_in assert_scalar "
        "assert_shapes assert_type"
    ),
    "distribute": "MirroredStrategy OneDeviceStrategy Strategy StrategyExtended",
    "distribute.experimental": (
        "CentralStorageStrategy MultiWorkerMirroredStrategy ParameterServerStrategy TPUStrategy"
    ),
    "estimator": (
        "BaselineClassifier BaselineEstimator BaselineRegressor DNNClassifier DNNEstimator "
        "DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor DNNRegressor "
        "Estimator LinearClassifier LinearEstimator LinearRegressor classifier_parse_example_spec "
        "regressor_parse_example_spec"
    ),
    "estimator.experimental": "RNNClassifier RNNEstimator",
    "feature_column": "categorical_column_with_vocabulary_file make_parse_example_spec shared_embeddings",
    "image": (
        "ResizeMethod crop_and_resize draw_bounding_boxes extract_glimpse resize resize_with_pad "
        "sample_distorted_bounding_box"
    ),
    "initializers": (
        "Constant GlorotNormal GlorotUniform Identity Initializer Ones Orthogonal RandomNormal "
        "RandomUniform TruncatedNormal VarianceScaling Zeros constant deserialize get glorot_normal "
        "glorot_uniform he_normal he_uniform identity lecun_normal lecun_uniform ones orthogonal serialize "
        "zeros"
    ),
    "io": "decode_csv decode_raw parse_example parse_single_example serialize_many_sparse serialize_sparse",
    "keras.backend": "name_scope",
    "keras.callbacks": "TensorBoard",
    "keras.estimator": "model_to_estimator",
    "keras.layers": "BatchNormalization DenseFeatures GRU GRUCell LSTM LSTMCell",
    "keras.losses": "Reduction",
    "linalg": "l2_normalize norm",
    "lite": "TFLiteConverter",
    "lookup": "StaticHashTable StaticVocabularyTable",
    "math": (
        "argmax argmin bincount confusion_matrix count_nonzero in_top_k l2_normalize log_softmax reduce_all "
        "reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum scalar_mul "
        "softmax"
    ),
    "nn": (
        "RNNCellDeviceWrapper RNNCellDropoutWrapper RNNCellResidualWrapper avg_pool avg_pool2d "
        "batch_norm_with_global_normalization conv1d conv2d conv2d_transpose conv3d conv3d_transpose "
        "convolution crelu ctc_beam_search_decoder ctc_loss depth_to_space depthwise_conv2d dilation2d "
        "dropout embedding_lookup embedding_lookup_sparse erosion2d fractional_avg_pool fractional_max_pool "
        "in_top_k l2_normalize log_softmax max_pool max_pool_with_argmax moments nce_loss pool "
        "safe_embedding_lookup_sparse sampled_softmax_loss separable_conv2d "
        "sigmoid_cross_entropy_with_logits softmax softmax_cross_entropy_with_logits space_to_batch "
        "space_to_depth sparse_softmax_cross_entropy_with_logits sufficient_statistics "
        "weighted_cross_entropy_with_logits weighted_moments"
    ),
    "random": "poisson set_seed",
    "saved_model": "contains_saved_model load",
    "sparse": "add concat reduce_max reduce_sum segment_mean segment_sqrt_n segment_sum split",
    "strings": "length reduce_join split substr to_hash_bucket to_number",
    "summary": (
        "SummaryWriter audio create_file_writer create_noop_writer flush histogram image record_if scalar "
        "text trace_export trace_off trace_on write"
    ),
    "summary.experimental": "get_step set_step summary_scope write_raw_pb",
    "test": "assert_equal_graph_def compute_gradient",
    "train": "Checkpoint",
    "train.experimental": "disable_mixed_precision_graph_rewrite enable_mixed_precision_graph_rewrite",
}

DIFFERENT = {
    f"{module}.{name}" if module else name for module, names in _BY_MODULE.items() for name in names.split()
}
