#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/gpt/gguf_model.h"
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

static void gpt2_tensors_are_the_models(void **state)
{
    (void)state;
    const GptConfig config = small_config();
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
    const GptConfig config = small_config();
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

/* ---- all families ------------------------------------------------------------------- */

/* Matrices become halves; vectors and positions do not. */
static void f16_is_for_matrices(void **state)
{
    (void)state;
    const GptConfig config = small_config();
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
    const GptConfig config = small_config();
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
    const GptConfig config = small_config();
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
    const GptConfig config = small_config();
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
        TEST(gpt2_tensors_are_the_models), TEST(gpt2_sizes_are_named),
        TEST(f16_is_for_matrices),         TEST(the_vocabulary_is_a_unigram_one),
        TEST(running_text_has_no_bos),     TEST(a_value_too_large_leaves_no_file),
    };
    return cmocka_run_group_tests_name("gguf_model", tests, NULL, NULL);
}
