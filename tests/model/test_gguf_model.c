#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/gpt/gguf_model.h"
#include "model/layers/position.h"
#include "tests/base/scratch_root.h"
#include "tests/model/gguf_reader.h"
#include "tests/model/small_model.h"

static char path[PATH_SIZE];

static int open_scratch(void **state)
{
    make_scratch(state);
    scratch_path(path, root, "model.gguf");
    return 0;
}

static const char *const TEXTS[] = {
    "<unk>", "<bos>", "<eos>", "<title>", "<author>", "<form>", "，", "。", "月",
    "山",    "水",    "風",    "花",      "鳥",       "人",     "詩", "雪"};
static const GgufVocabulary VOCABULARY = {
    .texts = TEXTS, .specials = 6, .unk = 0, .bos = 1, .eos = 2};

static void write_model(Reader *reader, const Gpt *gpt, GgufDtype dtype)
{
    Error err;
    if (gguf_model_write(gpt, &VOCABULARY, dtype, "small", path, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    reader_open(reader, path);
}

static const real *values_of(const Gpt *gpt, const char *name)
{
    const ParamInfo *info = param_table_find(&gpt->table, name);
    assert_non_null(info);
    return gpt->values + info->offset;
}

static void assert_same(float found, real expected)
{
    if (found != (float)expected)
        fail_msg("%g, expected %g", (double)found, (double)expected);
}

/* tensor (columns, in) of the file is W (in, columns) of the model, turned. */
static void assert_turned(const Reader *reader, const char *name, const real *weight,
                          int64_t in, int64_t columns)
{
    const FoundTensor *tensor = reader_find_tensor(reader, name);
    assert_int_equal(tensor->rank, 2);
    assert_int_equal(tensor->sizes[0], in);
    assert_int_equal(tensor->sizes[1], columns);
    for (int64_t i = 0; i < in; i++)
        for (int64_t j = 0; j < columns; j++)
            assert_same(reader_value(reader, tensor, (uint64_t)(j * in + i)),
                        weight[i * columns + j]);
}

/* The same numbers in the same order. */
static void assert_copied(const Reader *reader, const char *name, const real *values,
                          int64_t rows, int64_t columns)
{
    const FoundTensor *tensor = reader_find_tensor(reader, name);
    assert_int_equal(tensor->sizes[0], columns);
    assert_int_equal(tensor->rank == 1 ? 1 : tensor->sizes[1], rows);
    for (int64_t i = 0; i < rows * columns; i++)
        assert_same(reader_value(reader, tensor, (uint64_t)i), values[i]);
}

/* ---- gpt2 --------------------------------------------------------------------------- */

static GptConfig small_gpt2(void)
{
    GptConfig config = gpt_config_family(FAMILY_GPT2);
    config.vocab_size = 17;
    config.context = 13;
    config.width = 12;
    config.layers = 2;
    config.heads = 3;
    config.kv_heads = 3;
    config.head_size = 4;
    config.mlp_width = 20;
    return config;
}

static void gpt2_tensors_are_the_models(void **state)
{
    (void)state;
    const GptConfig config = small_gpt2();
    int64_t C = config.width;
    int64_t F = config.mlp_width;
    Gpt gpt = random_model(&config);
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    assert_int_equal(reader.tensor_count, gpt.table.count);
    assert_copied(&reader, "token_embd.weight",
                  values_of(&gpt, "transformer.wte.weight"), config.vocab_size, C);
    assert_copied(&reader, "position_embd.weight",
                  values_of(&gpt, "transformer.wpe.weight"), config.context, C);
    assert_copied(&reader, "output_norm.weight",
                  values_of(&gpt, "transformer.ln_f.weight"), 1, C);
    assert_copied(&reader, "output_norm.bias", values_of(&gpt, "transformer.ln_f.bias"),
                  1, C);
    assert_copied(&reader, "blk.1.attn_norm.weight",
                  values_of(&gpt, "transformer.h.1.ln_1.weight"), 1, C);
    assert_copied(&reader, "blk.0.attn_norm.bias",
                  values_of(&gpt, "transformer.h.0.ln_1.bias"), 1, C);
    assert_turned(&reader, "blk.1.attn_qkv.weight",
                  values_of(&gpt, "transformer.h.1.attn.c_attn.weight"), C, 3 * C);
    assert_copied(&reader, "blk.1.attn_qkv.bias",
                  values_of(&gpt, "transformer.h.1.attn.c_attn.bias"), 1, 3 * C);
    assert_turned(&reader, "blk.0.attn_output.weight",
                  values_of(&gpt, "transformer.h.0.attn.c_proj.weight"), C, C);
    assert_copied(&reader, "blk.0.attn_output.bias",
                  values_of(&gpt, "transformer.h.0.attn.c_proj.bias"), 1, C);
    assert_copied(&reader, "blk.1.ffn_norm.weight",
                  values_of(&gpt, "transformer.h.1.ln_2.weight"), 1, C);
    assert_turned(&reader, "blk.1.ffn_up.weight",
                  values_of(&gpt, "transformer.h.1.mlp.c_fc.weight"), C, F);
    assert_copied(&reader, "blk.1.ffn_up.bias",
                  values_of(&gpt, "transformer.h.1.mlp.c_fc.bias"), 1, F);
    assert_turned(&reader, "blk.0.ffn_down.weight",
                  values_of(&gpt, "transformer.h.0.mlp.c_proj.weight"), F, C);
    assert_copied(&reader, "blk.0.ffn_down.bias",
                  values_of(&gpt, "transformer.h.0.mlp.c_proj.bias"), 1, C);
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void gpt2_sizes_are_named(void **state)
{
    (void)state;
    const GptConfig config = small_gpt2();
    Gpt gpt = random_model(&config);
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    assert_true(reader_is_text(&reader, "general.architecture", "gpt2"));
    assert_true(reader_is_text(&reader, "general.name", "small"));
    assert_int_equal(reader_number(&reader, "gpt2.context_length"), config.context);
    assert_int_equal(reader_number(&reader, "gpt2.embedding_length"), config.width);
    assert_int_equal(reader_number(&reader, "gpt2.block_count"), config.layers);
    assert_int_equal(reader_number(&reader, "gpt2.feed_forward_length"),
                     config.mlp_width);
    assert_int_equal(reader_number(&reader, "gpt2.attention.head_count"), config.heads);
    assert_true(reader_float(&reader, "gpt2.attention.layer_norm_epsilon") ==
                (float)config.norm_eps);
    reader_close(&reader);
    gpt_destroy(&gpt);
}

/* ---- llama -------------------------------------------------------------------------- */

/* H 4, G 2, D 6: H D is not C. Weights, gains and biases are random. */
static GptConfig small_llama(void)
{
    GptConfig config = gpt_config_family(FAMILY_LLAMA);
    config.vocab_size = 17;
    config.context = 13;
    config.width = 20;
    config.layers = 2;
    config.heads = 4;
    config.kv_heads = 2;
    config.head_size = 6;
    config.mlp_width = 28;
    config.rope_theta = 500;
    return config;
}

/* Rows of the file's (heads D, C) are columns first .. of W (C, stride): row 2i of a head
 * its channel i, row 2i+1 its channel i + D/2. */
static void assert_pairs(const Reader *reader, const char *name, const real *weight,
                         int64_t stride, int64_t first, int64_t heads, int64_t D,
                         int64_t C)
{
    const FoundTensor *tensor = reader_find_tensor(reader, name);
    assert_int_equal(tensor->sizes[0], C);
    assert_int_equal(tensor->sizes[1], heads * D);
    for (int64_t h = 0; h < heads; h++)
        for (int64_t i = 0; i < D / 2; i++)
            for (int64_t c = 0; c < C; c++) {
                const real *row = weight + c * stride + first + h * D;
                uint64_t pair = (uint64_t)((h * D + 2 * i) * C + c);
                assert_same(reader_value(reader, tensor, pair), row[i]);
                assert_same(reader_value(reader, tensor, pair + (uint64_t)C),
                            row[i + D / 2]);
            }
}

static void llama_queries_and_keys_go_from_halves_to_pairs(void **state)
{
    (void)state;
    const GptConfig config = small_llama();
    Gpt gpt = random_model(&config);
    const real *qkv = gpt.params.blocks[1].attention.qkv.weight;
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    assert_pairs(&reader, "blk.1.attn_q.weight", qkv, 48, 0, 4, 6, 20);
    assert_pairs(&reader, "blk.1.attn_k.weight", qkv, 48, 24, 2, 6, 20);
    /* Values stay in their order. */
    const FoundTensor *values = reader_find_tensor(&reader, "blk.1.attn_v.weight");
    assert_int_equal(values->sizes[1], 12);
    for (int64_t j = 0; j < 12; j++)
        for (int64_t c = 0; c < 20; c++)
            assert_same(reader_value(&reader, values, (uint64_t)(j * 20 + c)),
                        qkv[c * 48 + 36 + j]);
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void llama_other_tensors_are_the_models(void **state)
{
    (void)state;
    const GptConfig config = small_llama();
    Gpt gpt = random_model(&config);
    const BlockParams *block = &gpt.params.blocks[0];
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    assert_int_equal(reader.tensor_count, 2 + 2 * 9);
    assert_copied(&reader, "token_embd.weight", gpt.params.tokens, 17, 20);
    assert_copied(&reader, "output_norm.weight", gpt.params.norm.gain, 1, 20);
    assert_copied(&reader, "blk.0.attn_norm.weight", block->norm1.gain, 1, 20);
    assert_copied(&reader, "blk.0.ffn_norm.weight", block->norm2.gain, 1, 20);
    assert_turned(&reader, "blk.0.attn_output.weight", block->attention.out.weight, 24,
                  20);
    assert_turned(&reader, "blk.0.ffn_gate.weight", block->swiglu.gate.weight, 20, 28);
    assert_turned(&reader, "blk.0.ffn_up.weight", block->swiglu.up.weight, 20, 28);
    assert_turned(&reader, "blk.0.ffn_down.weight", block->swiglu.down.weight, 28, 20);
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void llama_biases_turn_with_their_weights(void **state)
{
    (void)state;
    GptConfig config = small_llama();
    config.biases = true;
    Gpt gpt = random_model(&config);
    const BlockParams *block = &gpt.params.blocks[1];
    const real *bias = block->attention.qkv.bias;
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    const FoundTensor *queries = reader_find_tensor(&reader, "blk.1.attn_q.bias");
    const FoundTensor *keys = reader_find_tensor(&reader, "blk.1.attn_k.bias");
    assert_int_equal(queries->sizes[0], 24);
    assert_int_equal(keys->sizes[0], 12);
    for (int64_t h = 0; h < 4; h++)
        for (int64_t i = 0; i < 6; i++) {
            int64_t channel = h * 6 + i / 2 + i % 2 * 3;
            assert_same(reader_value(&reader, queries, (uint64_t)(h * 6 + i)),
                        bias[channel]);
            if (h < 2)
                assert_same(reader_value(&reader, keys, (uint64_t)(h * 6 + i)),
                            bias[24 + channel]);
        }
    assert_copied(&reader, "blk.1.attn_v.bias", bias + 36, 1, 12);
    assert_copied(&reader, "blk.1.attn_output.bias", block->attention.out.bias, 1, 20);
    assert_copied(&reader, "blk.1.ffn_gate.bias", block->swiglu.gate.bias, 1, 28);
    assert_copied(&reader, "blk.1.ffn_up.bias", block->swiglu.up.bias, 1, 28);
    assert_copied(&reader, "blk.1.ffn_down.bias", block->swiglu.down.bias, 1, 20);
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void llama_sizes_are_named(void **state)
{
    (void)state;
    const GptConfig config = small_llama();
    Gpt gpt = random_model(&config);
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    assert_true(reader_is_text(&reader, "general.architecture", "llama"));
    assert_int_equal(reader_number(&reader, "llama.attention.head_count"), 4);
    assert_int_equal(reader_number(&reader, "llama.attention.head_count_kv"), 2);
    assert_int_equal(reader_number(&reader, "llama.attention.key_length"), 6);
    assert_int_equal(reader_number(&reader, "llama.attention.value_length"), 6);
    assert_int_equal(reader_number(&reader, "llama.rope.dimension_count"), 6);
    assert_true(reader_float(&reader, "llama.rope.freq_base") == 500);
    assert_true(reader_float(&reader, "llama.attention.layer_norm_rms_epsilon") ==
                (float)config.norm_eps);
    reader_close(&reader);
    gpt_destroy(&gpt);
}

/* ---- deepseek2 ---------------------------------------------------------------------- */

/* H 3, Rq 10, R 8, P 5, O 4, E 7. */
static GptConfig small_deepseek(void)
{
    GptConfig config = gpt_config_family(FAMILY_DEEPSEEK);
    config.vocab_size = 17;
    config.context = 13;
    config.width = 20;
    config.layers = 2;
    config.heads = 3;
    config.kv_heads = 3;
    config.mlp_width = 28;
    config.q_rank = 10;
    config.kv_rank = 8;
    config.nope_size = 5;
    config.rope_size = 4;
    config.value_size = 7;
    return config;
}

static void deepseek_keys_and_values_are_taken_apart(void **state)
{
    (void)state;
    const GptConfig config = small_deepseek();
    Gpt gpt = random_model(&config);
    const real *up = gpt.params.blocks[1].mla.kv_up.weight; /* (8, 3 (5 + 7)) */
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    const FoundTensor *keys = reader_find_tensor(&reader, "blk.1.attn_k_b.weight");
    const FoundTensor *values = reader_find_tensor(&reader, "blk.1.attn_v_b.weight");
    const uint64_t key_sizes[] = {5, 8, 3};
    const uint64_t value_sizes[] = {8, 7, 3};
    assert_int_equal(keys->rank, 3);
    assert_int_equal(values->rank, 3);
    assert_memory_equal(keys->sizes, key_sizes, sizeof key_sizes);
    assert_memory_equal(values->sizes, value_sizes, sizeof value_sizes);
    for (int64_t h = 0; h < 3; h++)
        for (int64_t r = 0; r < 8; r++) {
            const real *head = up + r * 36 + h * 12;
            for (int64_t p = 0; p < 5; p++)
                assert_same(
                    reader_value(&reader, keys, (uint64_t)((h * 8 + r) * 5 + p)),
                    head[p]);
            for (int64_t e = 0; e < 7; e++)
                assert_same(
                    reader_value(&reader, values, (uint64_t)((h * 7 + e) * 8 + r)),
                    head[5 + e]);
        }
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void deepseek_other_tensors_are_the_models(void **state)
{
    (void)state;
    const GptConfig config = small_deepseek();
    Gpt gpt = random_model(&config);
    const BlockParams *block = &gpt.params.blocks[1];
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    assert_int_equal(reader.tensor_count, 2 + 2 * 13);
    assert_turned(&reader, "blk.1.attn_q_a.weight", block->mla.q_down.weight, 20, 10);
    assert_copied(&reader, "blk.1.attn_q_a_norm.weight", block->mla.q_norm, 1, 10);
    assert_turned(&reader, "blk.1.attn_q_b.weight", block->mla.q_up.weight, 10, 27);
    assert_turned(&reader, "blk.1.attn_kv_a_mqa.weight", block->mla.kv_down.weight, 20,
                  12);
    assert_copied(&reader, "blk.1.attn_kv_a_norm.weight", block->mla.kv_norm, 1, 8);
    assert_turned(&reader, "blk.1.attn_output.weight", block->mla.out.weight, 21, 20);
    assert_copied(&reader, "blk.1.attn_norm.weight", block->norm1.gain, 1, 20);
    assert_copied(&reader, "blk.1.ffn_norm.weight", block->norm2.gain, 1, 20);
    assert_turned(&reader, "blk.1.ffn_down.weight", block->swiglu.down.weight, 28, 20);
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void deepseek_without_query_rank_has_one_query_matrix(void **state)
{
    (void)state;
    GptConfig config = small_deepseek();
    config.q_rank = 0;
    Gpt gpt = random_model(&config);
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    assert_int_equal(reader.tensor_count, 2 + 2 * 11);
    assert_int_equal(reader_number(&reader, "deepseek2.attention.q_lora_rank"), 0);
    assert_turned(&reader, "blk.0.attn_q.weight", gpt.params.blocks[0].mla.q_up.weight,
                  20, 27);
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void deepseek_sizes_are_named(void **state)
{
    (void)state;
    const GptConfig config = small_deepseek();
    Gpt gpt = random_model(&config);
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    static const struct {
        const char *key;
        uint32_t value;
    } SIZES[] = {
        {"attention.head_count", 3},     {"attention.head_count_kv", 1},
        {"attention.q_lora_rank", 10},   {"attention.kv_lora_rank", 8},
        {"attention.key_length", 12},    {"attention.value_length", 8},
        {"attention.key_length_mla", 9}, {"attention.value_length_mla", 7},
        {"rope.dimension_count", 4},     {"leading_dense_block_count", 2},
        {"expert_shared_count", 0},      {"expert_feed_forward_length", 28},
        {"feed_forward_length", 28},
    };
    assert_true(reader_is_text(&reader, "general.architecture", "deepseek2"));
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        char key[64];
        snprintf(key, sizeof key, "deepseek2.%s", SIZES[i].key);
        assert_int_equal(reader_number(&reader, key), SIZES[i].value);
    }
    reader_close(&reader);
    gpt_destroy(&gpt);
}

/* ---- switches ----------------------------------------------------------------------- */

/* gpt2 wants positions, biases and norms' biases, also where the model has none. */
static void what_gpt2_lacks_is_zero(void **state)
{
    (void)state;
    GptConfig config = small_gpt2();
    config.position = POSITION_NONE;
    config.biases = false;
    Gpt gpt = random_model(&config);
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    static const char *const ZEROS[] = {"position_embd.weight", "blk.0.attn_qkv.bias",
                                        "blk.1.ffn_down.bias"};
    for (size_t i = 0; i < sizeof ZEROS / sizeof *ZEROS; i++) {
        const FoundTensor *tensor = reader_find_tensor(&reader, ZEROS[i]);
        for (size_t j = 0; j < reader_bytes(tensor) / 4; j++)
            assert_same(reader_value(&reader, tensor, j), 0);
    }
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void sinusoidal_positions_are_a_table(void **state)
{
    (void)state;
    GptConfig config = small_gpt2();
    config.position = POSITION_SINUSOIDAL;
    Gpt gpt = random_model(&config);
    Pool pool = {0};
    real *table = pool_reals(&pool, config.context * config.width);
    Reader reader;
    position_sinusoidal(table, config.context, config.width);
    write_model(&reader, &gpt, GGUF_F32);
    assert_copied(&reader, "position_embd.weight", table, config.context, config.width);
    reader_close(&reader);
    pool_free(&pool);
    gpt_destroy(&gpt);
}

static void an_untied_head_is_output(void **state)
{
    (void)state;
    GptConfig config = small_llama();
    config.tied = false;
    Gpt gpt = random_model(&config);
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    assert_true(gpt.params.head != gpt.params.tokens);
    assert_copied(&reader, "output.weight", gpt.params.head, 17, 20);
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void assert_refused(const GptConfig *config, const char *words)
{
    GgufArchitecture architecture;
    Error err = {.message = ""};
    assert_int_equal(gguf_model_architecture(&architecture, config, &err),
                     STATUS_USAGE);
    if (strstr(err.message, words) == NULL ||
        strstr(err.message, "llama.cpp has no architecture for this model") == NULL)
        fail_msg("expected \"%s\" in \"%s\"", words, err.message);
}

static void models_without_an_architecture_are_refused(void **state)
{
    (void)state;
    GptConfig config = small_gpt2();
    config.norm_place = NORM_AFTER;
    assert_refused(&config, "post-norm");
    config = small_gpt2();
    config.scaled_scores = false;
    assert_refused(&config, "1/sqrt(D)");
    config = small_llama();
    config.window = 5;
    config.sliding[1] = true;
    assert_refused(&config, "layer 1 sees a window of 5 tokens");
    config = small_llama();
    config.removed[1] = 4;
    assert_refused(&config, "layer 1 has 3 of 4 heads");
    config = small_gpt2();
    config.norm = NORM_RMS;
    assert_refused(&config, "LayerNorm");
    config = small_gpt2();
    config.mlp = MLP_SWIGLU;
    assert_refused(&config, "GELU");
    config = small_gpt2();
    config.head_size = 5;
    assert_refused(&config, "as wide as the model");
    config = small_llama();
    config.norm = NORM_LAYER;
    assert_refused(&config, "RMSNorm");
    config = small_llama();
    config.mlp = MLP_GELU;
    assert_refused(&config, "SwiGLU");
    config = small_deepseek();
    config.position = POSITION_NONE;
    config.rope_size = 0;
    assert_refused(&config, "RoPE");
    config = small_deepseek();
    config.biases = true;
    assert_refused(&config, "biases");
    config = small_deepseek();
    config.norm_eps = 1e-5;
    assert_refused(&config, "this model 1e-05 and, for the latents, 1e-06");
    config = small_deepseek();
    config.layers = 27;
    assert_refused(&config, "V2-Lite");
}

/* A window as long as the context hides nothing. */
static void windows_that_hide_nothing_are_fine(void **state)
{
    (void)state;
    GptConfig config = small_llama();
    GgufArchitecture architecture;
    Error err;
    config.window = config.context;
    config.sliding[0] = true;
    assert_int_equal(gguf_model_architecture(&architecture, &config, &err), STATUS_OK);
    assert_int_equal(architecture, GGUF_LLAMA);
}

/* ---- all families ------------------------------------------------------------------- */

/* Matrices become halves; vectors and positions do not. */
static void f16_is_for_matrices(void **state)
{
    (void)state;
    const GptConfig config = small_gpt2();
    Gpt gpt = random_model(&config);
    Reader reader;
    write_model(&reader, &gpt, GGUF_F16);
    assert_int_equal(reader_number(&reader, "general.file_type"), 1);
    for (uint64_t i = 0; i < reader.tensor_count; i++) {
        const FoundTensor *tensor = &reader.tensors[i];
        bool positions = strcmp(tensor->name, "position_embd.weight") == 0;
        assert_int_equal(tensor->dtype, tensor->rank > 1 && !positions);
    }
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void the_vocabulary_is_a_unigram_one(void **state)
{
    (void)state;
    const GptConfig config = small_gpt2();
    Gpt gpt = random_model(&config);
    Reader reader;
    write_model(&reader, &gpt, GGUF_F32);
    assert_true(reader_is_text(&reader, "tokenizer.ggml.model", "t5"));
    const FoundKey *tokens = reader_find_key(&reader, "tokenizer.ggml.tokens");
    const FoundKey *scores = reader_find_key(&reader, "tokenizer.ggml.scores");
    const FoundKey *types = reader_find_key(&reader, "tokenizer.ggml.token_type");
    assert_int_equal(tokens->length, config.vocab_size);
    assert_int_equal(scores->length, config.vocab_size);
    assert_int_equal(types->length, config.vocab_size);
    assert_int_equal(types->item_type, 5); /* llama.cpp insists on i32 */
    reader.at = tokens->place;
    for (int64_t id = 0; id < config.vocab_size; id++) {
        char text[32];
        float score;
        int32_t type;
        reader_text(&reader, text, sizeof text);
        assert_string_equal(text, TEXTS[id]);
        memcpy(&score, reader.map.data + scores->place + 4 * (size_t)id, sizeof score);
        memcpy(&type, reader.map.data + types->place + 4 * (size_t)id, sizeof type);
        assert_int_equal(type, id == 0 ? 2 : id < 6 ? 3 : 1);
        assert_true(id < 6 || score < 0); /* like logarithms of probabilities */
    }
    assert_int_equal(reader_number(&reader, "tokenizer.ggml.unknown_token_id"), 0);
    assert_int_equal(reader_number(&reader, "tokenizer.ggml.bos_token_id"), 1);
    assert_int_equal(reader_number(&reader, "tokenizer.ggml.eos_token_id"), 2);
    assert_true(reader_bool(&reader, "tokenizer.ggml.add_bos_token"));
    assert_false(reader_bool(&reader, "tokenizer.ggml.add_eos_token"));
    assert_false(reader_bool(&reader, "tokenizer.ggml.add_space_prefix"));
    assert_false(reader_bool(&reader, "tokenizer.ggml.remove_extra_whitespaces"));
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void running_text_has_no_bos(void **state)
{
    (void)state;
    const GptConfig config = small_gpt2();
    Gpt gpt = random_model(&config);
    GgufVocabulary vocabulary = VOCABULARY;
    Reader reader;
    Error err;
    vocabulary.bos = -1;
    assert_int_equal(gguf_model_write(&gpt, &vocabulary, GGUF_F32, "small", path, &err),
                     STATUS_OK);
    reader_open(&reader, path);
    assert_false(reader_has_key(&reader, "tokenizer.ggml.bos_token_id"));
    assert_false(reader_bool(&reader, "tokenizer.ggml.add_bos_token"));
    reader_close(&reader);
    gpt_destroy(&gpt);
}

static void a_value_too_large_leaves_no_file(void **state)
{
    (void)state;
    const GptConfig config = small_gpt2();
    Gpt gpt = random_model(&config);
    Error err;
    gpt.params.blocks[1].mlp.up.weight[3] = (real)1e6;
    assert_int_equal(gguf_model_write(&gpt, &VOCABULARY, GGUF_F16, "small", path, &err),
                     STATUS_NUMERIC);
    assert_non_null(strstr(err.message, "blk.1.ffn_up.weight"));
    assert_false(file_exists(path));
    assert_int_equal(gguf_model_write(&gpt, &VOCABULARY, GGUF_F32, "small", path, &err),
                     STATUS_OK);
    gpt_destroy(&gpt);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gpt2_tensors_are_the_models),
        TEST(gpt2_sizes_are_named),
        TEST(llama_queries_and_keys_go_from_halves_to_pairs),
        TEST(llama_other_tensors_are_the_models),
        TEST(llama_biases_turn_with_their_weights),
        TEST(llama_sizes_are_named),
        TEST(deepseek_keys_and_values_are_taken_apart),
        TEST(deepseek_other_tensors_are_the_models),
        TEST(deepseek_without_query_rank_has_one_query_matrix),
        TEST(deepseek_sizes_are_named),
        TEST(what_gpt2_lacks_is_zero),
        TEST(sinusoidal_positions_are_a_table),
        TEST(an_untied_head_is_output),
        TEST(models_without_an_architecture_are_refused),
        TEST(windows_that_hide_nothing_are_fine),
        TEST(f16_is_for_matrices),
        TEST(the_vocabulary_is_a_unigram_one),
        TEST(running_text_has_no_bos),
        TEST(a_value_too_large_leaves_no_file),
    };
    return cmocka_run_group_tests_name("gguf_model", tests, NULL, NULL);
}
