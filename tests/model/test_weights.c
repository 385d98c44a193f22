#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/base/safetensors.h"
#include "model/gpt/init.h"
#include "model/gpt/weights.h"
#include "tests/base/scratch.h"

static char root[PATH_SIZE];
static char config_path[PATH_SIZE];
static char weights_path[PATH_SIZE];
static Gpt model;

static const ModelTokens TOKENS = {
    .bos = 1, .eos = 2, .bos_text = "<bos>", .eos_text = "<eos>", .unk_text = "<unk>"};

/* A folder with a small model, which is also in `model`. */
static int make_model(void **state)
{
    (void)state;
    GptConfig config = gpt_config_open(FAMILY_GPT2);
    config.vocab_size = 11;
    config.context = 7;
    config.width = 12;
    config.layers = 2;
    config.heads = 3;
    config.mlp_width = 20;
    config.norm_eps = 1e-6;
    config.dropout = 0.125;
    gpt_config_fill(&config);
    Error err;
    scratch_create(root);
    scratch_path(config_path, root, "config.json");
    scratch_path(weights_path, root, "model.safetensors");
    if (gpt_create(&model, &config, &err) != STATUS_OK)
        return 1;
    gpt_init(&model, INIT_XAVIER_PER_HEAD, 5);
    return weights_save(&model, &TOKENS, root, &err) == STATUS_OK ? 0 : 1;
}

static int remove_model(void **state)
{
    (void)state;
    gpt_destroy(&model);
    scratch_remove(root);
    return 0;
}

/* ---- helpers ------------------------------------------------------------------------ */

static void assert_same_model(const Gpt *found)
{
    assert_int_equal(found->table.total, model.table.total);
    assert_memory_equal(found->values, model.values, model.table.total * sizeof(real));
}

static void assert_loads(void)
{
    Error err = {.message = ""};
    Gpt found;
    ModelTokens tokens;
    if (weights_load(&found, &tokens, root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_same_model(&found);
    gpt_destroy(&found);
}

/* STATUS_INPUT; the message begins with the file and has `words`. */
static void assert_refused(const char *file, const char *words)
{
    Error err = {.message = ""};
    Gpt found;
    ModelTokens tokens;
    if (weights_load(&found, &tokens, root, &err) != STATUS_INPUT)
        fail_msg("accepted, expected: %s", words);
    assert_int_equal(err.status, STATUS_INPUT);
    assert_null(found.values);
    if (strstr(err.message, file) != err.message || strstr(err.message, words) == NULL)
        fail_msg("expected \"%s\" in: %s", words, err.message);
}

/* Sets config[key] to JSON text, or removes it for NULL, and puts the old file back after
 * the check. */
static void with_config(const char *key, const char *value, const char *words)
{
    json_t *config;
    assert_int_equal(json_read_file(&config, config_path, NULL), STATUS_OK);
    json_t *changed = json_deep_copy(config);
    if (value == NULL)
        json_object_del(changed, key);
    else
        json_object_set_new(changed, key, json_loads(value, JSON_DECODE_ANY, NULL));
    assert_int_equal(json_write_file(config_path, changed, NULL), STATUS_OK);
    if (words == NULL)
        assert_loads();
    else
        assert_refused(config_path, words);
    assert_int_equal(json_write_file(config_path, config, NULL), STATUS_OK);
    json_decref(changed);
    json_decref(config);
}

enum { TENSORS_MAX = 64 };

/* The model's tensors, to be changed and written again. */
static size_t list_tensors(Tensor tensors[TENSORS_MAX])
{
    for (int64_t i = 0; i < model.table.count; i++) {
        const ParamInfo *info = &model.table.items[i];
        const int64_t shape[2] = {info->rows, info->cols};
        tensors[i] = tensor_of_reals(info->name, model.values + info->offset,
                                     info->is_vector ? 1 : 2,
                                     info->is_vector ? shape + 1 : shape);
    }
    return (size_t)model.table.count;
}

static Tensor *named(Tensor *tensors, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(tensors[i].name, name) == 0)
            return &tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void write_tensors(const Tensor *tensors, size_t count)
{
    assert_int_equal(safetensors_write(weights_path, tensors, count, NULL, 0, NULL),
                     STATUS_OK);
}

/* ---- saving and loading ------------------------------------------------------------- */

static void a_round_trip_keeps_every_bit(void **state)
{
    (void)state;
    Gpt found;
    ModelTokens tokens;
    assert_int_equal(weights_load(&found, &tokens, root, NULL), STATUS_OK);
    assert_same_model(&found);
    const GptConfig *a = &found.config;
    const GptConfig *b = &model.config;
    assert_true(a->vocab_size == b->vocab_size && a->context == b->context &&
                a->width == b->width && a->layers == b->layers &&
                a->heads == b->heads && a->mlp_width == b->mlp_width);
    assert_true(a->norm_eps == b->norm_eps && a->dropout == b->dropout);
    assert_int_equal(tokens.bos, 1);
    assert_int_equal(tokens.eos, 2);
    assert_null(tokens.bos_text);

    /* Saved again, the same bytes. */
    FileMap first;
    FileMap second;
    char again[PATH_SIZE];
    char path[PATH_SIZE];
    static const char *const files[] = {"config.json", "generation_config.json",
                                        "model.safetensors", "tokenizer_config.json"};
    assert_int_equal(folder_create(scratch_path(again, root, "again"), NULL),
                     STATUS_OK);
    assert_int_equal(weights_save(&found, &TOKENS, again, NULL), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(file_map(&first, scratch_path(path, root, files[i]), NULL),
                         STATUS_OK);
        assert_int_equal(file_map(&second, scratch_path(path, again, files[i]), NULL),
                         STATUS_OK);
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        file_unmap(&first);
        file_unmap(&second);
    }
    gpt_destroy(&found);
}

static void assert_text(const json_t *object, const char *key, const char *expected)
{
    const char *text;
    assert_int_equal(json_get_text(&text, object, key, "", NULL), STATUS_OK);
    assert_string_equal(text, expected);
}

static void assert_number(const json_t *object, const char *key, double expected)
{
    double number;
    assert_int_equal(json_get_real(&number, object, key, -1e9, 1e9, "", NULL),
                     STATUS_OK);
    assert_true(number == expected);
}

/* The names that transformers' GPT2Config and GenerationConfig read. */
static void the_files_have_the_names_of_hugging_face(void **state)
{
    (void)state;
    json_t *object;
    char path[PATH_SIZE];
    assert_int_equal(json_read_file(&object, config_path, NULL), STATUS_OK);
    assert_text(object, "model_type", "gpt2");
    assert_text(object, "activation_function", "gelu_new");
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(object, "architectures"), 0)),
        "GPT2LMHeadModel");
    assert_number(object, "vocab_size", 11);
    assert_number(object, "n_positions", 7);
    assert_number(object, "n_ctx", 7);
    assert_number(object, "n_embd", 12);
    assert_number(object, "n_layer", 2);
    assert_number(object, "n_head", 3);
    assert_number(object, "n_inner", 20);
    assert_number(object, "layer_norm_epsilon", 1e-6);
    assert_number(object, "resid_pdrop", 0.125);
    assert_number(object, "embd_pdrop", 0.125);
    assert_number(object, "attn_pdrop", 0);
    assert_number(object, "bos_token_id", 1);
    assert_number(object, "eos_token_id", 2);
    assert_true(json_is_true(json_object_get(object, "tie_word_embeddings")));
    json_decref(object);
    scratch_path(path, root, "generation_config.json");
    assert_int_equal(json_read_file(&object, path, NULL), STATUS_OK);
    assert_number(object, "bos_token_id", 1);
    assert_number(object, "eos_token_id", 2);
    assert_number(object, "max_length", 7);
    json_decref(object);
    scratch_path(path, root, "tokenizer_config.json");
    assert_int_equal(json_read_file(&object, path, NULL), STATUS_OK);
    assert_text(object, "tokenizer_class", "PreTrainedTokenizerFast");
    assert_text(object, "unk_token", "<unk>");
    json_decref(object);

    SafeTensors file;
    assert_int_equal(safetensors_open(&file, weights_path, NULL), STATUS_OK);
    assert_string_equal(safetensors_metadata(&file, "format"), "pt");
    assert_int_equal(file.count, 4 + 12 * 2);
    /* Conv1D keeps (in, out). */
    const Tensor *qkv = safetensors_find(&file, "transformer.h.1.attn.c_attn.weight");
    assert_non_null(qkv);
    assert_true(qkv->rank == 2 && qkv->shape[0] == 12 && qkv->shape[1] == 36);
    const Tensor *bias = safetensors_find(&file, "transformer.h.0.mlp.c_fc.bias");
    assert_non_null(bias);
    assert_true(bias->rank == 1 && bias->shape[0] == 20);
    assert_null(safetensors_find(&file, "lm_head.weight"));
    safetensors_close(&file);
}

static void tokens_that_are_not_there_stay_unknown(void **state)
{
    (void)state;
    const ModelTokens none = {.bos = -1, .eos = -1};
    char again[PATH_SIZE];
    char path[PATH_SIZE];
    Gpt found;
    ModelTokens tokens;
    assert_int_equal(folder_create(scratch_path(again, root, "again"), NULL),
                     STATUS_OK);
    assert_int_equal(weights_save(&model, &none, again, NULL), STATUS_OK);
    assert_false(file_exists(scratch_path(path, again, "tokenizer_config.json")));
    assert_int_equal(weights_load(&found, &tokens, again, NULL), STATUS_OK);
    assert_int_equal(tokens.bos, -1);
    assert_int_equal(tokens.eos, -1);
    gpt_destroy(&found);
}

static void a_model_that_is_not_finite_is_not_saved(void **state)
{
    (void)state;
    Error err;
    const ParamInfo *info =
        param_table_find(&model.table, "transformer.h.1.mlp.c_proj.weight");
    real *value = &model.values[info->offset + 5];
    real kept = *value;
    *value = (real)NAN;
    assert_int_equal(weights_save(&model, &TOKENS, root, &err), STATUS_NUMERIC);
    assert_non_null(strstr(err.message, info->name));
    *value = (real)-INFINITY;
    assert_int_equal(weights_save(&model, &TOKENS, root, &err), STATUS_NUMERIC);
    *value = kept;
    assert_loads(); /* what was there before */
}

static void a_folder_that_is_missing_is_named(void **state)
{
    (void)state;
    Error err;
    Gpt found;
    ModelTokens tokens;
    char path[PATH_SIZE];
    scratch_path(path, root, "nowhere");
    assert_int_equal(weights_save(&model, &TOKENS, path, &err), STATUS_IO);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(weights_load(&found, &tokens, path, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "nowhere/config.json"));
    unlink(weights_path);
    assert_int_equal(weights_load(&found, &tokens, root, &err), STATUS_IO);
    assert_non_null(strstr(err.message, weights_path));
    assert_null(found.values);
}

/* ---- config.json -------------------------------------------------------------------- */

static void configs_of_others_are_read(void **state)
{
    (void)state;
    with_config("jueju", NULL, NULL);
    with_config("n_ctx", NULL, NULL);
    with_config("tie_word_embeddings", NULL, NULL);
    with_config("architectures", NULL, NULL);
    with_config("bos_token_id", NULL, NULL);
    with_config("eos_token_id", "null", NULL);
    with_config("activation_function", NULL, NULL);
    with_config("activation_function", "\"gelu_pytorch_tanh\"", NULL);
    with_config("summary_type", "\"cls_index\"", NULL);
    with_config("task_specific_params", "{\"text-generation\": {}}", NULL);
    with_config("scale_attn_weights", "true", NULL);
    with_config("embd_pdrop", "0.1", NULL);
}

static void missing_and_mistyped_keys_are_named(void **state)
{
    (void)state;
    static const char *const sizes[] = {"vocab_size", "n_positions", "n_embd",
                                        "n_layer", "n_head"};
    for (size_t i = 0; i < 5; i++) {
        char words[64];
        snprintf(words, sizeof words, "\"%s\" is missing", sizes[i]);
        with_config(sizes[i], NULL, words);
        snprintf(words, sizeof words, "\"%s\"", sizes[i]);
        with_config(sizes[i], "null", words);
        with_config(sizes[i], "\"12\"", words);
        with_config(sizes[i], "12.0", words);
        with_config(sizes[i], "[12]", words);
        with_config(sizes[i], "0", words);
        with_config(sizes[i], "-12", words);
        with_config(sizes[i], "9223372036854775807", words);
    }
    with_config("n_inner", "\"wide\"", "\"n_inner\"");
    with_config("n_inner", "0", "\"n_inner\"");
    with_config("layer_norm_epsilon", "\"1e-5\"", "\"layer_norm_epsilon\"");
    with_config("layer_norm_epsilon", "-1e-5", "\"layer_norm_epsilon\"");
    with_config("resid_pdrop", "1.5", "\"resid_pdrop\"");
    with_config("bos_token_id", "11", "\"bos_token_id\"");
    with_config("eos_token_id", "-1", "\"eos_token_id\"");
    with_config("eos_token_id", "\"<eos>\"", "\"eos_token_id\"");
    with_config("n_ctx", "8", "\"n_ctx\"");
    with_config("jueju", "1", "\"jueju\"");
    with_config("jueju", "{}", "\"format\" is missing");
    with_config("jueju", "{\"format\": 1000}", "newer");
}

static void other_models_are_refused(void **state)
{
    (void)state;
    with_config("model_type", NULL, "\"model_type\" is missing");
    with_config("model_type", "\"bert\"", "found \"bert\"");
    with_config("model_type", "\"llama\"", "\"max_position_embeddings\" is missing");
    with_config("model_type", "\"jueju-gpt2\"", "\"norm\" is missing");
    with_config("model_type", "2", "\"model_type\"");
    with_config("activation_function", "\"relu\"", "\"activation_function\"");
    with_config("activation_function", "\"gelu\"", "\"activation_function\"");
    with_config("tie_word_embeddings", "\"yes\"", "\"tie_word_embeddings\"");
    with_config("scale_attn_by_inverse_layer_idx", "true", "inverse_layer_idx");
    with_config("add_cross_attention", "true", "\"add_cross_attention\"");
}

static void sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    with_config("n_head", "5", "multiple of the number of heads");
    with_config("n_head", "2147483647", "number of heads");
    with_config("n_layer", "2147483647", "n_layer");
    with_config("vocab_size", "2147483647", "vocab_size");
    with_config("layer_norm_epsilon", "0", "layer_norm_epsilon");
    with_config("resid_pdrop", "1", "dropout");
}

static void a_config_that_is_no_json_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{", "[]", "{\"n_embd\":1,\"n_embd\":2}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scratch_text(config_path, texts[i]);
        assert_refused(config_path, "");
    }
}

/* ---- model.safetensors -------------------------------------------------------------- */

/* Sizes that the config has and the tensors do not: refused with the tensor, and without
 * taking the memory of the model that the config describes. */
static void sizes_that_disagree_with_the_tensors_are_refused(void **state)
{
    (void)state;
    static const char *const changes[][3] = {
        {"vocab_size", "12",
         "\"transformer.wte.weight\": expected shape (12,12), found"},
        {"n_layer", "3", "\"transformer.h.2.ln_1.weight\" is missing"},
        {"n_layer", "1", "\"transformer.h.1."},
        {"n_inner", "21",
         "\"transformer.h.0.mlp.c_fc.weight\": expected shape (12,21)"},
        {"n_inner", "null", "expected shape (12,48), found (12,20)"},
        {"n_embd", "24", "\"transformer.wte.weight\""},
        {"vocab_size", "16777216", "\"transformer.wte.weight\""},
        {"n_layer", "256", "\"transformer.h.2.ln_1.weight\""},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        json_t *config;
        json_t *changed;
        assert_int_equal(json_read_file(&config, config_path, NULL), STATUS_OK);
        changed = json_deep_copy(config);
        json_object_set_new(changed, changes[i][0],
                            json_loads(changes[i][1], JSON_DECODE_ANY, NULL));
        assert_int_equal(json_write_file(config_path, changed, NULL), STATUS_OK);
        assert_refused(weights_path, changes[i][2]);
        assert_int_equal(json_write_file(config_path, config, NULL), STATUS_OK);
        json_decref(changed);
        json_decref(config);
    }
}

static void names_without_the_prefix_are_read(void **state)
{
    (void)state;
    Tensor tensors[TENSORS_MAX];
    real mask[49] = {0};
    real fill[1] = {-10000};
    size_t count = list_tensors(tensors);
    for (size_t i = 0; i < count; i++)
        tensors[i].name += strlen("transformer.");
    write_tensors(tensors, count);
    assert_loads();
    /* As in the first upload of gpt2: the causal mask beside each layer. */
    const int64_t shape[] = {1, 1, 7, 7};
    tensors[count] = tensor_of_reals("h.0.attn.bias", mask, 4, shape);
    tensors[count + 1] = tensor_of_reals("h.1.attn.masked_bias", fill, 0, NULL);
    write_tensors(tensors, count + 2);
    assert_loads();
    /* Some with the prefix, some without. */
    tensors[3].name -= strlen("transformer.");
    write_tensors(tensors, count + 2);
    assert_loads();
}

static void a_repeated_head_must_equal_the_embedding(void **state)
{
    (void)state;
    Tensor tensors[TENSORS_MAX];
    real head[11 * 12];
    size_t count = list_tensors(tensors);
    const Tensor *tokens = named(tensors, count, "transformer.wte.weight");
    memcpy(head, tokens->data, sizeof head);
    tensors[count] = tensor_of_reals("lm_head.weight", head, 2, tokens->shape);
    write_tensors(tensors, count + 1);
    assert_loads();
    head[7] += 1;
    write_tensors(tensors, count + 1);
    assert_refused(weights_path, "\"lm_head.weight\" differs");
    head[7] -= 1;
    const int64_t turned[] = {12, 11};
    tensors[count] = tensor_of_reals("lm_head.weight", tokens->data, 2, turned);
    write_tensors(tensors, count + 1);
    assert_refused(weights_path, "\"lm_head.weight\"");
}

static void tensors_too_many_or_too_few_are_named(void **state)
{
    (void)state;
    Tensor tensors[TENSORS_MAX];
    size_t count = list_tensors(tensors);
    for (size_t i = 0; i < count; i++) {
        Tensor kept = tensors[i];
        char words[128];
        snprintf(words, sizeof words, "\"%s\" is missing", kept.name);
        tensors[i] = tensors[count - 1];
        write_tensors(tensors, count - 1);
        assert_refused(weights_path, words);
        tensors[i] = kept;
    }
    static const char *const strangers[] = {
        "transformer.h.2.ln_1.weight",
        "transformer.h.0.attn.q_norm.weight",
        "wte.weight", /* the embedding a second time */
        "x",
    };
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        char words[128];
        snprintf(words, sizeof words, "\"%s\" has no place", strangers[i]);
        tensors[count] = tensors[0];
        tensors[count].name = strangers[i];
        write_tensors(tensors, count + 1);
        assert_refused(weights_path, words);
    }
}

static void wrong_shapes_types_and_values_are_named(void **state)
{
    (void)state;
    Tensor tensors[TENSORS_MAX];
    size_t count = list_tensors(tensors);
    Tensor *qkv = named(tensors, count, "transformer.h.0.attn.c_attn.weight");
    const Tensor kept = *qkv;
    *qkv = tensor_of_reals(kept.name, kept.data, 2, (const int64_t[]){36, 12});
    write_tensors(tensors, count); /* (out, in): a Linear, not a Conv1D */
    assert_refused(weights_path,
                   "c_attn.weight\": expected shape (12,36), found (36,12)");
    *qkv = tensor_of_reals(kept.name, kept.data, 1, (const int64_t[]){432});
    write_tensors(tensors, count);
    assert_refused(weights_path, "found (432)");
    *qkv = kept;
    qkv->dtype = sizeof(real) == 8 ? DTYPE_I64 : DTYPE_I32;
    write_tensors(tensors, count);
    assert_refused(weights_path, "c_attn.weight\": expected dtype");
    real values[432];
    memcpy(values, kept.data, sizeof values);
    values[431] = (real)NAN;
    *qkv = tensor_of_reals(kept.name, values, 2, kept.shape);
    write_tensors(tensors, count);
    assert_refused(weights_path, "c_attn.weight\": value 431 of 432 is");
    values[431] = 0;
    values[0] = (real)INFINITY;
    write_tensors(tensors, count);
    assert_refused(weights_path, "not finite");
}

static void a_damaged_weights_file_is_refused(void **state)
{
    (void)state;
    FileMap map;
    assert_int_equal(file_map(&map, weights_path, NULL), STATUS_OK);
    assert_int_equal(file_write(weights_path, map.data, map.size - 1, NULL), STATUS_OK);
    file_unmap(&map);
    assert_refused(weights_path, "end");
    scratch_text(weights_path, "");
    assert_refused(weights_path, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_model, remove_model)
    const struct CMUnitTest tests[] = {
        TEST(a_round_trip_keeps_every_bit),
        TEST(the_files_have_the_names_of_hugging_face),
        TEST(tokens_that_are_not_there_stay_unknown),
        TEST(a_model_that_is_not_finite_is_not_saved),
        TEST(a_folder_that_is_missing_is_named),
        TEST(configs_of_others_are_read),
        TEST(missing_and_mistyped_keys_are_named),
        TEST(other_models_are_refused),
        TEST(sizes_that_cannot_be_are_refused),
        TEST(a_config_that_is_no_json_is_refused),
        TEST(sizes_that_disagree_with_the_tensors_are_refused),
        TEST(names_without_the_prefix_are_read),
        TEST(a_repeated_head_must_equal_the_embedding),
        TEST(tensors_too_many_or_too_few_are_named),
        TEST(wrong_shapes_types_and_values_are_named),
        TEST(a_damaged_weights_file_is_refused),
    };
    return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
