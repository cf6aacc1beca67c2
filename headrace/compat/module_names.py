"""Which modules of TensorFlow's inside there are: package -> the modules in it.

Programs probe for modules to learn the version ("try: from tensorflow.python.x import y"), so a module that
TensorFlow 1.15 does not have must not be found. Names only, listed from an installed TensorFlow 1.15.5.
"""

PACKAGES = {
    "compiler": "",
    "compiler.jit": "",
    "compiler.jit.ops": "xla_ops xla_ops_grad",
    "compiler.tf2tensorrt": "_wrap_py_utils wrap_py_utils",
    "compiler.tf2tensorrt.ops": "gen_trt_ops",
    "compiler.tf2xla": "",
    "compiler.tf2xla.ops": "_xla_ops gen_xla_ops",
    "compiler.tf2xla.python": "xla",
    "compiler.xla": "",
    "compiler.xla.experimental": "",
    "compiler.xla.experimental.xla_sharding": "xla_sharding",
    "compiler.xla.python_api": "types xla_shape",
    "compiler.xla.service": "",
    "examples": "",
    "examples.tutorials": "",
    "examples.tutorials.mnist": "input_data",
    "python": "_tf_stack pywrap_tensorflow pywrap_tensorflow_internal tf2",
    "python.autograph": "",
    "python.autograph.converters": (
        "arg_defaults asserts break_statements call_trees conditional_expressions continue_statements "
        "control_flow directives function_scopes list_comprehensions lists logical_expressions "
        "return_statements slices"
    ),
    "python.autograph.core": (
        "ag_ctx config config_lib converter converter_testing function_wrappers naming "
        "unsupported_features_checker"
    ),
    "python.autograph.impl": "api conversion",
    "python.autograph.lang": "directives special_functions",
    "python.autograph.operators": (
        "control_flow data_structures exceptions logical py_builtins slices special_values symbols"
    ),
    "python.autograph.pyct": (
        "anno ast_util cfg compiler errors inspect_utils origin_info parser pretty_printer qual_names "
        "templates transformer"
    ),
    "python.autograph.pyct.common_transformers": "anf",
    "python.autograph.pyct.static_analysis": "activity annos liveness reaching_definitions",
    "python.autograph.utils": (
        "ag_logging context_managers misc py_func tensor_list tensors testing type_check"
    ),
    "python.client": "client_lib device_lib session timeline",
    "python.compat": "compat v2_compat",
    "python.compiler": "",
    "python.compiler.tensorrt": "trt_convert",
    "python.compiler.xla": "jit xla",
    "python.data": "",
    "python.data.experimental": "",
    "python.data.experimental.ops": (
        "batching cardinality counter distribute distribute_options enumerate_ops error_ops "
        "get_single_element grouping interleave_ops iterator_ops map_defun matching_files optimization "
        "optimization_options parsing_ops prefetching_ops random_ops readers resampling scan_ops "
        "shuffle_ops sleep snapshot stats_aggregator stats_ops stats_options take_while_ops "
        "threading_options threadpool unique writers"
    ),
    "python.data.ops": "dataset_ops iterator_ops multi_device_iterator_ops optional_ops readers",
    "python.data.util": "convert nest options random_seed sparse structure traverse",
    "python.debug": "",
    "python.debug.cli": (
        "analyzer_cli base_ui cli_config cli_shared cli_test_utils command_parser curses_ui curses_widgets "
        "debugger_cli_common evaluator offline_analyzer profile_analyzer_cli readline_ui tensor_format "
        "ui_factory"
    ),
    "python.debug.examples": "debug_errors debug_fibonacci debug_keras debug_mnist debug_tflearn_iris",
    "python.debug.lib": (
        "common debug_data debug_gradients debug_graphs debug_service_pb2_grpc debug_utils "
        "grpc_debug_server grpc_debug_test_server grpc_tensorflow_server profiling session_debug_testlib "
        "source_remote source_utils"
    ),
    "python.debug.wrappers": "dumping_wrapper framework grpc_wrapper hooks local_cli_wrapper",
    "python.distribute": (
        "all_reduce central_storage_strategy collective_all_reduce_strategy combinations cross_device_ops "
        "cross_device_utils device_util distribute_config distribute_coordinator "
        "distribute_coordinator_context distribute_lib distribution_strategy_context estimator_training "
        "input_lib input_ops mirrored_strategy model_combinations multi_worker_test_base multi_worker_util "
        "numpy_dataset one_device_strategy parameter_server_strategy reduce_util saved_model_test_base "
        "shared_variable_creator single_loss_example step_fn strategy_combinations strategy_test_lib "
        "summary_op_util tpu_strategy values"
    ),
    "python.distribute.cluster_resolver": (
        "cluster_resolver gce_cluster_resolver kubernetes_cluster_resolver slurm_cluster_resolver "
        "tfconfig_cluster_resolver tpu_cluster_resolver"
    ),
    "python.distribute.experimental": "",
    "python.eager": (
        "backprop cancellation context core def_function execute execution_callbacks executor forwardprop "
        "function graph_only_ops imperative_grad lift_to_graph monitoring profiler profiler_client remote "
        "tape test wrap_function"
    ),
    "python.estimator": "estimator estimator_lib exporter gc keras model_fn run_config training util",
    "python.estimator.canned": (
        "baseline boosted_trees boosted_trees_utils dnn dnn_linear_combined head linear metric_keys "
        "optimizers parsing_utils prediction_keys"
    ),
    "python.estimator.export": "export export_lib export_output",
    "python.estimator.inputs": "inputs numpy_io pandas_io",
    "python.estimator.inputs.queues": "feeding_functions feeding_queue_runner",
    "python.feature_column": (
        "dense_features dense_features_v2 feature_column feature_column_lib feature_column_v2 "
        "sequence_feature_column serialization utils"
    ),
    "python.framework": (
        "auto_control_deps c_api_util combinations common_shapes composite_tensor composite_tensor_utils "
        "config constant_op convert_to_constants device device_spec dtypes error_interpolation errors "
        "errors_impl fast_tensor_util framework_lib func_graph function function_def_to_graph graph_io "
        "graph_to_function_def graph_util graph_util_impl importer indexed_slices kernels load_library "
        "meta_graph op_callbacks op_def_library op_def_registry ops random_seed registry smart_cond "
        "sparse_tensor subscribe tensor_conversion_registry tensor_like tensor_shape tensor_spec "
        "tensor_util test_combinations test_ops test_util traceable_stack type_spec versions"
    ),
    "python.grappler": "cluster item tf_optimizer",
    "python.keras": (
        "activations backend backend_config callbacks callbacks_v1 constraints initializers "
        "keras_parameterized losses metrics model_subclassing_test_util models ops optimizers regularizers "
        "testing_utils"
    ),
    "python.keras.applications": (
        "densenet imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 nasnet resnet "
        "resnet_v2 vgg16 vgg19 xception"
    ),
    "python.keras.datasets": "boston_housing cifar cifar10 cifar100 fashion_mnist imdb mnist reuters",
    "python.keras.distribute": (
        "distributed_training_utils keras_correctness_test_base multi_worker_testing_utils "
        "multi_worker_training_state"
    ),
    "python.keras.engine": (
        "base_layer base_layer_utils base_preprocessing_layer base_preprocessing_layer_v1 data_adapter "
        "input_layer input_spec network node partial_batch_padding_handler saving sequential training "
        "training_arrays training_distributed training_eager training_generator training_utils training_v2 "
        "training_v2_utils"
    ),
    "python.keras.estimator": "",
    "python.keras.layers": (
        "advanced_activations convolutional convolutional_recurrent core cudnn_recurrent dense_attention "
        "embeddings kernelized local merge noise normalization normalization_v2 pooling recurrent "
        "recurrent_v2 rnn_cell_wrapper_v2 serialization wrappers"
    ),
    "python.keras.layers.preprocessing": "normalization normalization_v1 preprocessing_test_utils",
    "python.keras.mixed_precision": "",
    "python.keras.mixed_precision.experimental": "autocast_variable loss_scale_optimizer policy test_util",
    "python.keras.optimizer_v2": (
        "adadelta adagrad adam adamax ftrl gradient_descent learning_rate_schedule nadam optimizer_v2 rmsprop"
    ),
    "python.keras.premade": "linear wide_deep",
    "python.keras.preprocessing": "image sequence text",
    "python.keras.saving": "hdf5_format model_config save saved_model_experimental saving_utils",
    "python.keras.saving.saved_model": "constants load save serialized_attributes utils",
    "python.keras.utils": (
        "conv_utils data_utils generic_utils io_utils kernelized_utils layer_utils losses_utils "
        "metrics_utils mode_keys multi_gpu_utils np_utils tf_utils vis_utils"
    ),
    "python.keras.wrappers": "scikit_learn",
    "python.layers": "base convolutional core layers normalization pooling utils",
    "python.lib": "",
    "python.lib.io": "file_io python_io tf_record",
    "python.module": "module",
    "python.ops": (
        "array_grad array_ops batch_ops bitwise_ops boosted_trees_ops candidate_sampling_ops check_ops "
        "clip_ops clustering_ops collective_ops cond_v2 confusion_matrix control_flow_grad control_flow_ops "
        "control_flow_state control_flow_util control_flow_util_v2 control_flow_v2_func_graphs "
        "control_flow_v2_toggles critical_section_ops ctc_ops cudnn_rnn_grad custom_gradient data_flow_grad "
        "data_flow_ops default_gradient embedding_ops functional_ops gen_array_ops gen_audio_ops "
        "gen_batch_ops gen_bitwise_ops gen_boosted_trees_ops gen_candidate_sampling_ops gen_checkpoint_ops "
        "gen_clustering_ops gen_collective_ops gen_control_flow_ops gen_ctc_ops gen_cudnn_rnn_ops "
        "gen_data_flow_ops gen_dataset_ops gen_decode_proto_ops gen_encode_proto_ops "
        "gen_experimental_dataset_ops gen_functional_ops gen_image_ops gen_io_ops gen_linalg_ops "
        "gen_list_ops gen_logging_ops gen_lookup_ops gen_manip_ops gen_math_ops gen_nccl_ops gen_nn_ops "
        "gen_parsing_ops gen_ragged_array_ops gen_ragged_conversion_ops gen_ragged_math_ops gen_random_ops "
        "gen_resource_variable_ops gen_rnn_ops gen_script_ops gen_sdca_ops gen_set_ops gen_sparse_ops "
        "gen_spectral_ops gen_state_ops gen_stateful_random_ops gen_stateless_random_ops gen_string_ops "
        "gen_summary_ops gen_tensor_forest_ops gen_tpu_ops gen_user_ops gradient_checker "
        "gradient_checker_v2 gradients gradients_impl gradients_util histogram_ops image_grad image_ops "
        "image_ops_impl init_ops init_ops_v2 initializers_ns inplace_ops io_ops linalg_grad linalg_ops "
        "linalg_ops_impl list_ops logging_ops lookup_ops manip_grad manip_ops map_fn math_grad math_ops "
        "metrics metrics_impl nccl_ops nn nn_grad nn_impl nn_ops numerics op_selector optional_grad "
        "parsing_ops partitioned_variables proto_ops random_grad random_ops resource_variable_ops resources "
        "rnn rnn_cell rnn_cell_impl rnn_cell_wrapper_impl rnn_grad script_ops sdca_ops session_ops sets "
        "sets_impl sort_ops sparse_grad sparse_ops special_math_ops spectral_ops_test_util standard_ops "
        "state_grad state_ops stateful_random_ops stateless_random_ops string_ops summary_op_util "
        "summary_ops_v2 template tensor_array_grad tensor_array_ops tensor_forest_ops unconnected_gradients "
        "variable_scope variables weights_broadcast_ops while_v2 while_v2_indexed_slices_rewriter"
    ),
    "python.ops.distributions": (
        "bernoulli beta bijector bijector_impl bijector_test_util categorical dirichlet "
        "dirichlet_multinomial distribution distributions exponential gamma identity_bijector "
        "kullback_leibler laplace multinomial normal special_math student_t transformed_distribution "
        "uniform util"
    ),
    "python.ops.linalg": (
        "adjoint_registrations cholesky_registrations inverse_registrations linalg linalg_impl "
        "linear_operator linear_operator_addition linear_operator_adjoint linear_operator_algebra "
        "linear_operator_block_diag linear_operator_circulant linear_operator_composition "
        "linear_operator_diag linear_operator_full_matrix linear_operator_householder "
        "linear_operator_identity linear_operator_inversion linear_operator_kronecker "
        "linear_operator_low_rank_update linear_operator_lower_triangular linear_operator_test_util "
        "linear_operator_toeplitz linear_operator_util linear_operator_zeros matmul_registrations "
        "registrations_util solve_registrations"
    ),
    "python.ops.losses": "loss_reduction losses losses_impl util",
    "python.ops.parallel_for": "control_flow_ops gradients pfor test_util",
    "python.ops.ragged": (
        "ragged_array_ops ragged_batch_gather_ops ragged_batch_gather_with_default_op ragged_concat_ops "
        "ragged_config ragged_conversion_ops ragged_dispatch ragged_factory_ops ragged_functional_ops "
        "ragged_gather_ops ragged_getitem ragged_map_ops ragged_math_ops ragged_operators ragged_squeeze_op "
        "ragged_string_ops ragged_tensor ragged_tensor_shape ragged_tensor_value ragged_util "
        "ragged_where_op segment_id_ops"
    ),
    "python.ops.signal": (
        "dct_ops fft_ops mel_ops mfcc_ops reconstruction_ops shape_ops signal spectral_ops util_ops "
        "window_ops"
    ),
    "python.platform": (
        "app benchmark build_info control_imports flags gfile googletest parameterized remote_utils "
        "resource_loader self_check status_bar sysconfig test tf_logging"
    ),
    "python.profiler": "model_analyzer option_builder profile_context profiler tfprof_logger",
    "python.profiler.internal": "flops_registry",
    "python.saved_model": (
        "builder builder_impl constants function_deserialization function_serialization load load_v1_in_v2 "
        "loader loader_impl main_op main_op_impl nested_structure_coder revived_types save saved_model "
        "signature_constants signature_def_utils signature_def_utils_impl signature_serialization "
        "simple_save tag_constants utils utils_impl"
    ),
    "python.saved_model.model_utils": "export_output export_utils mode_keys",
    "python.summary": "plugin_asset summary summary_iterator",
    "python.summary.writer": "event_file_writer event_file_writer_v2 writer writer_cache",
    "python.tools": (
        "freeze_graph import_pb_to_tensorboard inspect_checkpoint module_util optimize_for_inference "
        "optimize_for_inference_lib print_selective_registration_header saved_model_cli saved_model_utils "
        "selective_registration_header_lib strip_unused strip_unused_lib"
    ),
    "python.tpu": (
        "_tpu_estimator_embedding api async_checkpoint bfloat16 datasets device_assignment error_handling "
        "feature_column feature_column_v2 functional preempted_hook session_support tensor_tracer "
        "tensor_tracer_flags tensor_tracer_report topology tpu tpu_config tpu_context tpu_embedding "
        "tpu_embedding_gradient tpu_estimator tpu_feed tpu_function tpu_optimizer tpu_sharding "
        "tpu_strategy_util tpu_system_metadata training_loop util"
    ),
    "python.tpu.ops": "tpu_ops",
    "python.tpu.profiler": "profiler_analysis_pb2_grpc",
    "python.training": (
        "adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks checkpoint_management "
        "checkpoint_ops checkpoint_utils coordinator device_setter distribute distribution_strategy_context "
        "evaluation ftrl gen_training_ops gradient_descent input learning_rate_decay momentum "
        "monitored_session moving_averages optimizer proximal_adagrad proximal_gradient_descent "
        "queue_runner queue_runner_impl rmsprop saver saver_test_utils server_lib session_manager "
        "session_run_hook slot_creator summary_io supervisor sync_replicas_optimizer tensorboard_logging "
        "training training_ops training_util warm_starting_util"
    ),
    "python.training.experimental": (
        "loss_scale loss_scale_optimizer mixed_precision mixed_precision_global_state"
    ),
    "python.training.saving": "functional_saver saveable_object saveable_object_util",
    "python.training.tracking": "base data_structures graph_view layer_utils python_state tracking util",
    "python.user_ops": "user_ops",
    "python.util": (
        "all_util compat compat_internal decorator_utils deprecation deprecation_wrapper dispatch "
        "example_parser_configuration function_utils future_api is_in_graph_mode keyword_args lazy_loader "
        "lock_util memory module_wrapper nest object_identity serialization tf_contextlib tf_decorator "
        "tf_export tf_inspect tf_should_use tf_stack"
    ),
    "python.util.protobuf": "compare",
    "tools": "",
    "tools.graph_transforms": "",
}

MODULES = {f"{package}.{name}" for package, names in PACKAGES.items() for name in names.split()} | set(
    PACKAGES
)
