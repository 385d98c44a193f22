#include "model/base/files.h"
#include "model/base/json.h"
#include "model/base/safetensors.h"
#include "model/gpt/weights.h"
#include "tests/base/scratch.h"
#include "tests/model/small_model.h"

static const ModelTokens TOKENS = {.bos = 1, .eos = 2};
static char root[PATH_SIZE];
static char config_path[PATH_SIZE];

static int make_root(void **state)
{
    (void)state;
    scratch_create(root);
    scratch_path(config_path, root, "config.json");
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    scratch_remove(root);
    return 0;
}

/* ---- helpers ------------------------------------------------------------------------ */

typedef void (*Change)(GptConfig *config);

/* Four heads, so that two and one key/value heads are possible, sizes still all different. */
static GptConfig changed(Family family, Change change)
{
    GptConfig config = gpt_config_open(family);
    config.vocab_size = 17;
    config.context = 13;
    config.width = 16;
    config.layers = 3;
    config.heads = 4;
    config.mlp_width = 20;
    if (change != NULL)
        change(&config);
    gpt_config_fill(&config);
    return config;
}

static void save(const Gpt *gpt)
{
    Error err = {.message = ""};
    if (weights_save(gpt, &TOKENS, root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static Gpt load(void)
{
    Gpt gpt;
    ModelTokens tokens;
    Error err = {.message = ""};
    if (weights_load(&gpt, &tokens, root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(tokens.bos, 1);
    assert_int_equal(tokens.eos, 2);
    return gpt;
}

/* Saves a random model of this config and loads it again: every bit is back. */
static void assert_round_trip(const GptConfig *config, const char *type)
{
    json_t *object;
    const char *found;
    Gpt gpt = random_model(config);
    save(&gpt);
    assert_int_equal(json_read_file(&object, config_path, NULL), STATUS_OK);
    json_get_text(&found, object, "model_type", "", NULL);
    assert_string_equal(found, type);
    json_decref(object);
    Gpt again = load();
    assert_true(gpt_config_equal(&again.config, config));
    assert_true(again.config.dropout == config->dropout);
    assert_true(again.config.scaled_residual == config->scaled_residual);
    assert_int_equal(again.table.total, gpt.table.total);
    assert_memory_equal(again.values, gpt.values, gpt.table.total * sizeof(real));
    gpt_destroy(&again);
    gpt_destroy(&gpt);
}

/* ---- round trips -------------------------------------------------------------------- */

static void rms(GptConfig *config)
{
    config->norm = NORM_RMS;
}
static void layernorm(GptConfig *config)
{
    config->norm = NORM_LAYER;
}
static void after(GptConfig *config)
{
    config->norm_place = NORM_AFTER;
}
static void learned(GptConfig *config)
{
    config->position = POSITION_LEARNED;
}
static void sinusoidal(GptConfig *config)
{
    config->position = POSITION_SINUSOIDAL;
}
static void rope(GptConfig *config)
{
    config->position = POSITION_ROPE;
}
static void none(GptConfig *config)
{
    config->position = POSITION_NONE;
}
static void gelu(GptConfig *config)
{
    config->mlp = MLP_GELU;
}
static void swiglu(GptConfig *config)
{
    config->mlp = MLP_SWIGLU;
}
static void one_kv_head(GptConfig *config)
{
    config->kv_heads = 1;
}
static void wide_heads(GptConfig *config)
{
    config->head_size = 6;
}
static void untied(GptConfig *config)
{
    config->tied = false;
}
static void unscaled(GptConfig *config)
{
    config->scaled_scores = false;
}
static void biases(GptConfig *config)
{
    config->biases = true;
}
static void no_biases(GptConfig *config)
{
    config->biases = false;
}
static void no_query_latent(GptConfig *config)
{
    config->q_rank = 0;
}

static void heads(GptConfig *config)
{
    config->attention = ATTENTION_HEADS;
    config->biases = true;
}

static void mla(GptConfig *config)
{
    config->attention = ATTENTION_MLA;
    config->biases = false;
}

static void dropout(GptConfig *config)
{
    config->dropout = 0.25;
    config->scaled_residual = false;
    config->rope_theta = 12345.5;
}

static void some_slide(GptConfig *config)
{
    config->window = 5;
    config->sliding[0] = config->sliding[2] = true;
}

static void all_slide(GptConfig *config)
{
    some_slide(config);
    config->sliding[1] = true;
}

static void five_heads(GptConfig *config)
{
    config->heads = 5; /* of 4 channels in a width of 16 */
    config->head_size = 4;
    config->kv_heads = 5;
}

static void cut(GptConfig *config)
{
    config->removed[0] = 1;
    config->removed[2] = 2 | 8;
}

static void cut_all(GptConfig *config)
{
    config->removed[1] = 15;
}

static void every_switch_comes_back_under_the_type_that_has_it(void **state)
{
    (void)state;
    static const struct {
        Family family;
        Change change;
        const char *type;
    } CASES[] = {
        {FAMILY_GPT2, NULL, "gpt2"},
        {FAMILY_GPT2, dropout, "gpt2"},
        {FAMILY_GPT2, untied, "gpt2"},
        {FAMILY_GPT2, unscaled, "gpt2"},
        {FAMILY_GPT2, cut, "gpt2"},
        {FAMILY_GPT2, cut_all, "jueju-gpt2"},
        {FAMILY_GPT2, rms, "jueju-gpt2"},
        {FAMILY_GPT2, after, "jueju-gpt2"},
        {FAMILY_GPT2, sinusoidal, "jueju-gpt2"},
        {FAMILY_GPT2, rope, "jueju-gpt2"},
        {FAMILY_GPT2, none, "jueju-gpt2"},
        {FAMILY_GPT2, swiglu, "jueju-gpt2"},
        {FAMILY_GPT2, one_kv_head, "jueju-gpt2"},
        {FAMILY_GPT2, wide_heads, "jueju-gpt2"},
        {FAMILY_GPT2, no_biases, "jueju-gpt2"},
        {FAMILY_GPT2, some_slide, "jueju-gpt2"},
        {FAMILY_GPT2, mla, "jueju-gpt2"},
        {FAMILY_LLAMA, NULL, "llama"},
        {FAMILY_LLAMA, dropout, "llama"},
        {FAMILY_LLAMA, one_kv_head, "llama"},
        {FAMILY_LLAMA, wide_heads, "llama"},
        {FAMILY_LLAMA, untied, "llama"},
        {FAMILY_LLAMA, biases, "llama"},
        {FAMILY_LLAMA, all_slide, "mistral"},
        {FAMILY_LLAMA, some_slide, "ministral"},
        {FAMILY_LLAMA, five_heads, "jueju-llama"},
        {FAMILY_LLAMA, layernorm, "jueju-llama"},
        {FAMILY_LLAMA, after, "jueju-llama"},
        {FAMILY_LLAMA, learned, "jueju-llama"},
        {FAMILY_LLAMA, none, "jueju-llama"},
        {FAMILY_LLAMA, gelu, "jueju-llama"},
        {FAMILY_LLAMA, unscaled, "jueju-llama"},
        {FAMILY_LLAMA, cut, "jueju-llama"},
        {FAMILY_LLAMA, mla, "jueju-llama"},
        {FAMILY_DEEPSEEK, NULL, "deepseek_v3"},
        {FAMILY_DEEPSEEK, dropout, "deepseek_v3"},
        {FAMILY_DEEPSEEK, untied, "deepseek_v3"},
        {FAMILY_DEEPSEEK, no_query_latent, "deepseek_v3"},
        {FAMILY_DEEPSEEK, learned, "jueju-deepseek"},
        {FAMILY_DEEPSEEK, some_slide, "jueju-deepseek"},
        {FAMILY_DEEPSEEK, cut, "jueju-deepseek"},
        {FAMILY_DEEPSEEK, cut_all, "jueju-deepseek"},
        {FAMILY_DEEPSEEK, heads, "jueju-deepseek"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        GptConfig config = changed(CASES[i].family, CASES[i].change);
        assert_round_trip(&config, CASES[i].type);
    }
}

/* ---- names and layouts -------------------------------------------------------------- */

/* The tensor has this shape and element (i, j) of it is in memory where `at` says: column j
 * of row i at at[i * row + j * column]. */
static void assert_tensor(const SafeTensors *file, const char *name, int64_t rows,
                          int64_t cols, const real *at, int64_t row, int64_t column)
{
    Pool pool = {0};
    const int64_t shape[] = {rows, cols};
    Error err = {.message = ""};
    real *values = pool_reals(&pool, rows * cols);
    if (safetensors_expect_real(file, name, 2, shape, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    safetensors_read_real(values, file, name, 2, shape, true, NULL);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            assert_true(values[i * cols + j] == at[i * row + j * column]);
    }
    pool_free(&pool);
}

static void assert_vector(const SafeTensors *file, const char *name, int64_t size,
                          const real *at)
{
    Pool pool = {0};
    Error err = {.message = ""};
    real *values = pool_reals(&pool, size);
    if (safetensors_expect_real(file, name, 1, &size, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    safetensors_read_real(values, file, name, 1, &size, true, NULL);
    assert_memory_equal(values, at, (size_t)size * sizeof(real));
    pool_free(&pool);
}

static SafeTensors open_weights(void)
{
    SafeTensors file;
    char path[PATH_SIZE];
    assert_int_equal(
        safetensors_open(&file, scratch_path(path, root, "model.safetensors"), NULL),
        STATUS_OK);
    assert_string_equal(safetensors_metadata(&file, "format"), "pt");
    return file;
}

/* Linear layers as PyTorch keeps them, (out, in), Q, K and V apart. */
static void llama_has_the_tensors_of_llama(void **state)
{
    (void)state;
    GptConfig config = changed(FAMILY_LLAMA, biases);
    config.tied = false;
    Gpt gpt = random_model(&config);
    save(&gpt);
    SafeTensors file = open_weights();
    const BlockParams *block = &gpt.params.blocks[1];
    const int64_t C = 16, F = 20, Q = 16, K = 8, W = Q + 2 * K;
    const real *qkv = block->attention.qkv.weight;
#define NAME(end) "model.layers.1." end
    assert_tensor(&file, NAME("self_attn.q_proj.weight"), Q, C, qkv, 1, W);
    assert_tensor(&file, NAME("self_attn.k_proj.weight"), K, C, qkv + Q, 1, W);
    assert_tensor(&file, NAME("self_attn.v_proj.weight"), K, C, qkv + Q + K, 1, W);
    assert_vector(&file, NAME("self_attn.q_proj.bias"), Q, block->attention.qkv.bias);
    assert_vector(&file, NAME("self_attn.k_proj.bias"), K,
                  block->attention.qkv.bias + Q);
    assert_vector(&file, NAME("self_attn.v_proj.bias"), K,
                  block->attention.qkv.bias + Q + K);
    assert_tensor(&file, NAME("self_attn.o_proj.weight"), C, Q,
                  block->attention.out.weight, 1, C);
    assert_tensor(&file, NAME("mlp.gate_proj.weight"), F, C, block->swiglu.gate.weight,
                  1, F);
    assert_tensor(&file, NAME("mlp.up_proj.weight"), F, C, block->swiglu.up.weight, 1,
                  F);
    assert_tensor(&file, NAME("mlp.down_proj.weight"), C, F, block->swiglu.down.weight,
                  1, C);
    assert_vector(&file, NAME("mlp.gate_proj.bias"), F, block->swiglu.gate.bias);
    assert_vector(&file, NAME("input_layernorm.weight"), C, block->norm1.gain);
    assert_vector(&file, NAME("post_attention_layernorm.weight"), C, block->norm2.gain);
    assert_vector(&file, "model.norm.weight", C, gpt.params.norm.gain);
    assert_tensor(&file, "model.embed_tokens.weight", 17, C, gpt.params.tokens, C, 1);
    assert_tensor(&file, "lm_head.weight", 17, C, gpt.params.head, C, 1);
    /* embed_tokens, norm, lm_head; of a layer 2 norms, 7 matrices, 7 biases */
    assert_int_equal(file.count, 3 + 3 * (2 + 7 + 7));
    safetensors_close(&file);
    gpt_destroy(&gpt);
}

static void deepseek_has_the_tensors_of_deepseek(void **state)
{
    (void)state;
    GptConfig config = changed(FAMILY_DEEPSEEK, NULL);
    Gpt gpt = random_model(&config);
    save(&gpt);
    SafeTensors file = open_weights();
    const MlaParams *at = &gpt.params.blocks[1].mla;
    const int64_t C = 16, Rq = 12, R = 8, H = 4, P = 4, O = 2, E = 4;
    assert_tensor(&file, NAME("self_attn.q_a_proj.weight"), Rq, C, at->q_down.weight, 1,
                  Rq);
    assert_vector(&file, NAME("self_attn.q_a_layernorm.weight"), Rq, at->q_norm);
    assert_tensor(&file, NAME("self_attn.q_b_proj.weight"), H * (P + O), Rq,
                  at->q_up.weight, 1, H * (P + O));
    assert_tensor(&file, NAME("self_attn.kv_a_proj_with_mqa.weight"), R + O, C,
                  at->kv_down.weight, 1, R + O);
    assert_vector(&file, NAME("self_attn.kv_a_layernorm.weight"), R, at->kv_norm);
    assert_tensor(&file, NAME("self_attn.kv_b_proj.weight"), H * (P + E), R,
                  at->kv_up.weight, 1, H * (P + E));
    assert_tensor(&file, NAME("self_attn.o_proj.weight"), C, H * E, at->out.weight, 1,
                  C);
    assert_null(safetensors_find(&file, "lm_head.weight"));
    assert_int_equal(file.count, 2 + 3 * (2 + 7 + 3));
    safetensors_close(&file);
    gpt_destroy(&gpt);
    config = changed(FAMILY_DEEPSEEK, no_query_latent);
    gpt = random_model(&config);
    save(&gpt);
    file = open_weights();
    at = &gpt.params.blocks[1].mla;
    assert_tensor(&file, NAME("self_attn.q_proj.weight"), H * (P + O), C,
                  at->q_up.weight, 1, H * (P + O));
    assert_int_equal(file.count, 2 + 3 * (2 + 5 + 3));
    safetensors_close(&file);
    gpt_destroy(&gpt);
}

static void assert_number(const char *key, double expected)
{
    json_t *object;
    double number;
    assert_int_equal(json_read_file(&object, config_path, NULL), STATUS_OK);
    assert_int_equal(json_get_real(&number, object, key, -1e9, 1e9, "", NULL),
                     STATUS_OK);
    assert_true(number == expected);
    json_decref(object);
}

static void configs_have_the_fields_of_hugging_face(void **state)
{
    (void)state;
    GptConfig config = changed(FAMILY_LLAMA, dropout);
    assert_int_equal(config_file_save(&config, &TOKENS, root, NULL), STATUS_OK);
    assert_number("hidden_size", 16);
    assert_number("intermediate_size", 20);
    assert_number("num_hidden_layers", 3);
    assert_number("num_attention_heads", 4);
    assert_number("num_key_value_heads", 2);
    assert_number("head_dim", 4);
    assert_number("max_position_embeddings", 13);
    assert_number("rms_norm_eps", 1e-6);
    assert_number("rope_theta", 12345.5);
    config = changed(FAMILY_DEEPSEEK, NULL);
    assert_int_equal(config_file_save(&config, &TOKENS, root, NULL), STATUS_OK);
    assert_number("q_lora_rank", 12);
    assert_number("kv_lora_rank", 8);
    assert_number("qk_nope_head_dim", 4);
    assert_number("qk_rope_head_dim", 2);
    assert_number("v_head_dim", 4);
    assert_number("first_k_dense_replace", 3);
    assert_number("num_key_value_heads", 4);
    config = changed(FAMILY_LLAMA, all_slide);
    assert_int_equal(config_file_save(&config, &TOKENS, root, NULL), STATUS_OK);
    assert_number("sliding_window", 5);
}

/* ---- what is read and what is refused ----------------------------------------------- */

/* The saved model with config[key] set to JSON text, or removed for NULL: loads and gives
 * the same config (words NULL), or is refused with these words. */
static void with_config(const char *key, const char *value, const char *words)
{
    json_t *config;
    Gpt gpt;
    ModelTokens tokens;
    Error err = {.message = ""};
    assert_int_equal(json_read_file(&config, config_path, NULL), STATUS_OK);
    json_t *other = json_deep_copy(config);
    if (value == NULL)
        json_object_del(other, key);
    else
        json_object_set_new(other, key, json_loads(value, JSON_DECODE_ANY, NULL));
    assert_int_equal(json_write_file(config_path, other, NULL), STATUS_OK);
    Status status = weights_load(&gpt, &tokens, root, &err);
    if (words == NULL && status != STATUS_OK)
        fail_msg("%s: %s: %s", key, value, err.message);
    if (words != NULL && (status != STATUS_INPUT || strstr(err.message, words) == NULL))
        fail_msg("%s: %s: expected \"%s\" in: %s", key, value, words, err.message);
    gpt_destroy(&gpt);
    assert_int_equal(json_write_file(config_path, config, NULL), STATUS_OK);
    json_decref(other);
    json_decref(config);
}

static void save_random(const GptConfig *config)
{
    Gpt gpt = random_model(config);
    save(&gpt);
    gpt_destroy(&gpt);
}

static void llama_configs_of_others_are_read(void **state)
{
    (void)state;
    GptConfig config = changed(FAMILY_LLAMA, NULL);
    save_random(&config);
    with_config("jueju", NULL, NULL);
    with_config("head_dim", NULL, NULL);
    with_config("rope_theta", NULL, NULL);
    with_config("rope_scaling", "null", NULL);
    with_config("rope_parameters",
                "{\"rope_theta\": 10000, \"rope_type\": \"default\"}", NULL);
    with_config("attention_bias", NULL, NULL);
    with_config("mlp_bias", NULL, NULL);
    with_config("hidden_act", NULL, NULL);
    with_config("pretraining_tp", "1", NULL);
    with_config("pruned_heads", "{}", NULL);
    with_config("num_key_value_heads", NULL, "k_proj"); /* then it is MHA */
    with_config("tie_word_embeddings", NULL, "\"lm_head.weight\" is missing");
}

static void what_the_model_cannot_do_is_refused_by_name(void **state)
{
    (void)state;
    GptConfig config = changed(FAMILY_LLAMA, NULL);
    save_random(&config);
    static const char *const needed[] = {
        "vocab_size",        "max_position_embeddings", "hidden_size",
        "num_hidden_layers", "num_attention_heads",     "intermediate_size"};
    for (int i = 0; i < 6; i++) {
        char words[80];
        snprintf(words, sizeof words, "\"%s\" is missing", needed[i]);
        with_config(needed[i], NULL, words);
        snprintf(words, sizeof words, "\"%s\"", needed[i]);
        with_config(needed[i], "0", words);
        with_config(needed[i], "\"8\"", words);
    }
    with_config("hidden_act", "\"gelu\"", "\"hidden_act\"");
    with_config("rope_scaling", "{\"type\": \"linear\"}", "\"rope_scaling\"");
    with_config("rope_parameters", "{\"rope_type\": \"yarn\"}", "\"rope_type\"");
    with_config("rope_parameters", "{\"rope_theta\": -1}", "\"rope_theta\"");
    with_config("partial_rotary_factor", "0.5", "\"partial_rotary_factor\"");
    with_config("attention_bias", "true", "\"attention_bias\" is true");
    with_config("mlp_bias", "true", "\"mlp_bias\" true");
    with_config("sliding_window", "4", "\"sliding_window\"");
    with_config("pruned_heads", "{\"0\": [1]}", "\"pruned_heads\"");
    with_config("num_key_value_heads", "3", "multiple");
    with_config("num_key_value_heads", "0", "\"num_key_value_heads\"");
    with_config("head_dim", "5", "even");
    with_config("rms_norm_eps", "0", "rms_norm_eps");
    with_config("model_type", "\"jueju-llama\"", "\"norm\" is missing");
    with_config("is_encoder_decoder", "true", "\"is_encoder_decoder\"");
    with_config("num_hidden_layers", "257", "num_hidden_layers");

    config = changed(FAMILY_DEEPSEEK, NULL);
    save_random(&config);
    with_config("first_k_dense_replace", "1", NULL); /* n_routed_experts is null */
    with_config("n_routed_experts", "8", NULL);      /* but every layer is dense */
    with_config("n_routed_experts", NULL, NULL);
    with_config("jueju", NULL, NULL);
    with_config("rope_interleave", "false", "\"rope_interleave\"");
    with_config("kv_lora_rank", NULL, "\"kv_lora_rank\" is missing");
    with_config("q_lora_rank", "null", "self_attn.q_proj.weight\" is missing");
    with_config("num_key_value_heads", "2", "num_key_value_heads 2");
    with_config("attention_bias", "true", "attention_bias");
    with_config("qk_rope_head_dim", "0", "qk_rope_head_dim");
    json_t *object;
    assert_int_equal(json_read_file(&object, config_path, NULL), STATUS_OK);
    json_object_set_new(object, "n_routed_experts", json_integer(8));
    assert_int_equal(json_write_file(config_path, object, NULL), STATUS_OK);
    with_config("first_k_dense_replace", "2", "\"first_k_dense_replace\" is 2 of 3");
    with_config("first_k_dense_replace", "3", NULL);
    json_decref(object);

    config = changed(FAMILY_LLAMA, some_slide);
    save_random(&config);
    with_config("layer_types", "[\"full_attention\"]", "\"layer_types\"");
    with_config("layer_types", "\"full\"", "\"layer_types\"");
    with_config("layer_types", "[\"full_attention\", \"chunked_attention\", 1]",
                "chunked_attention");
    with_config("model_type", "\"mistral\"", "\"layer_types\"");
}

static void switches_of_our_own_types_are_checked(void **state)
{
    (void)state;
    GptConfig config = changed(FAMILY_GPT2, cut_all);
    save_random(&config);
    with_config("pruned_heads", "{\"1\": [0, 1, 2, 3, 3]}", NULL);
    static const char *const bad[] = {"[]",
                                      "{\"3\": [0]}",
                                      "{\"-1\": [0]}",
                                      "{\"\": [0]}",
                                      "{\"1\": 0}",
                                      "{\"1\": [4]}",
                                      "{\"1\": [-1]}",
                                      "{\"1\": [\"0\"]}",
                                      "{\"99999999999999999999\": [0]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        with_config("pruned_heads", bad[i], "\"pruned_heads\"");
    with_config("jueju", NULL, "\"jueju\" is missing");
    with_config("jueju", "{\"format\": 1}", "\"norm\" is missing");
    with_config("jueju", "{\"format\": 1, \"norm\": \"batch\"}", "\"batch\"");
    with_config("jueju", "{\"format\": 2}", "newer");
}

/* The base model's names, as AutoModel saves them, and RoPE's frequencies beside them. */
static void names_without_the_prefix_are_read(void **state)
{
    (void)state;
    enum { MOST = 64 };
    GptConfig config = changed(FAMILY_LLAMA, NULL);
    Gpt gpt = random_model(&config);
    save(&gpt);
    char path[PATH_SIZE];
    Tensor tensors[MOST];
    SafeTensors file = open_weights();
    size_t count = file.count;
    for (size_t i = 0; i < count; i++) {
        tensors[i] = file.tensors[i];
        tensors[i].name += strlen("model.");
    }
    const int64_t two = 2;
    real frequencies[2] = {1, (real)0.01};
    tensors[count] =
        tensor_of_reals("layers.0.self_attn.rotary_emb.inv_freq", frequencies, 1, &two);
    scratch_path(path, root, "other.safetensors");
    assert_int_equal(safetensors_write(path, tensors, count + 1, NULL, 0, NULL),
                     STATUS_OK);
    safetensors_close(&file);
    char weights[PATH_SIZE];
    assert_int_equal(rename(path, scratch_path(weights, root, "model.safetensors")), 0);
    Gpt again = load();
    assert_memory_equal(again.values, gpt.values, gpt.table.total * sizeof(real));
    gpt_destroy(&again);
    gpt_destroy(&gpt);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        TEST(every_switch_comes_back_under_the_type_that_has_it),
        TEST(llama_has_the_tensors_of_llama),
        TEST(deepseek_has_the_tensors_of_deepseek),
        TEST(configs_have_the_fields_of_hugging_face),
        TEST(llama_configs_of_others_are_read),
        TEST(what_the_model_cannot_do_is_refused_by_name),
        TEST(switches_of_our_own_types_are_checked),
        TEST(names_without_the_prefix_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
