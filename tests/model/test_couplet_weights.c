/* Checkpoints of an encoder–decoder: Pegasus's names and layout, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/base/safetensors.h"
#include "model/gpt/init.h"
#include "model/gpt/weights.h"
#include "tests/base/scratch.h"

static char root[PATH_SIZE], config_path[PATH_SIZE], weights_path[PATH_SIZE];

static const ModelTokens TOKENS = {
    .bos = 1, .eos = 2, .bos_text = "<bos>", .eos_text = "<eos>", .unk_text = "<unk>"};

enum { V = 11, C = 12, L = 2, LE = 1, F = 20, D = 4 };

static GptConfig small(void)
{
    GptConfig config = gpt_config_open(FAMILY_COUPLET);
    config.vocab_size = V;
    config.context = 9;
    config.width = C;
    config.layers = L;
    config.encoder_layers = LE;
    config.heads = C / D;
    config.mlp_width = F;
    config.dropout = 0.125;
    gpt_config_fill(&config);
    return config;
}

static void save(Gpt *gpt, const GptConfig *config)
{
    Error err = {.message = ""};
    if (gpt_create(gpt, config, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    gpt_init(gpt, INIT_XAVIER_PER_HEAD, 5);
    for (size_t i = 0; i < gpt->table.total; i++)
        gpt->values[i] += (real)0.001 * (real)(i % 97); /* biases too */
    if (weights_save(gpt, &TOKENS, root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static int make_folder(void **state)
{
    (void)state;
    scratch_create(root);
    scratch_path(config_path, root, "config.json");
    scratch_path(weights_path, root, "model.safetensors");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    scratch_remove(root);
    return 0;
}

static bool same_values(const Gpt *a, const Gpt *b)
{
    for (int64_t i = 0; i < a->table.count; i++) {
        const ParamInfo *info = &a->table.items[i];
        if (memcmp(a->values + info->offset, b->values + info->offset,
                   (size_t)(info->rows * info->cols) * sizeof(real)) != 0)
            return false;
    }
    return a->table.count == b->table.count;
}

/* Each switch that the class lacks, alone. */
static void set_switch(GptConfig *config, int which)
{
    switch (which) {
    case 1:
        config->norm_place = NORM_AFTER;
        break;
    case 2:
        config->position = POSITION_LEARNED;
        break;
    case 3:
        config->norm = NORM_RMS;
        break;
    case 4:
        config->mlp = MLP_SWIGLU;
        break;
    case 5:
        config->biases = false;
        break;
    case 6:
        config->kv_heads = 1;
        break;
    case 7:
        config->position = POSITION_ROPE;
        break;
    case 8:
        config->norm_eps = 1e-6;
        break;
    case 9:
        config->tied = false;
        break;
    case 10:
        config->scaled_scores = false;
        break;
    case 11:
        config->head_size = 6;
        break;
    case 12: /* the class has this one */
        config->scaled_embedding = false;
        break;
    default:
        break;
    }
}

static void a_round_trip_keeps_every_switch_and_bit(void **state)
{
    (void)state;
    for (int which = 0; which < 13; which++) {
        Gpt gpt, found;
        ModelTokens tokens;
        Error err = {.message = ""};
        GptConfig config = small();
        set_switch(&config, which);
        save(&gpt, &config);
        json_t *file;
        const char *type;
        assert_int_equal(json_read_file(&file, config_path, NULL), STATUS_OK);
        assert_int_equal(json_get_text(&type, file, "model_type", "", NULL), STATUS_OK);
        bool theirs = which == 0 || which == 12;
        assert_string_equal(type, theirs ? "pegasus" : "jueju-couplet");
        json_decref(file);
        if (weights_load(&found, &tokens, root, &err) != STATUS_OK)
            fail_msg("%d: %s", which, err.message);
        assert_true(gpt_config_equal(&gpt.config, &found.config));
        assert_true(found.config.dropout == config.dropout);
        assert_true(same_values(&gpt, &found));
        gpt_destroy(&found);
        gpt_destroy(&gpt);
    }
}

/* file[out, in] = memory[in, first + out]. */
static void assert_columns(const SafeTensors *file, const char *name,
                           const real *values, int64_t in, int64_t cols, int64_t first,
                           int64_t out)
{
    real found[C * F];
    const int64_t shape[2] = {out, in};
    Error err = {.message = ""};
    if (safetensors_read_real(found, file, name, 2, shape, true, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    for (int64_t o = 0; o < out; o++) {
        for (int64_t i = 0; i < in; i++)
            assert_true(found[o * in + i] == values[i * cols + first + o]);
    }
}

static void tensors_have_the_names_and_layout_of_pegasus(void **state)
{
    (void)state;
    Gpt gpt;
    GptConfig config = small();
    SafeTensors file;
    save(&gpt, &config);
    assert_int_equal(safetensors_open(&file, weights_path, NULL), STATUS_OK);
    /* shared, two last norms, the bias of the logits; a block of the encoder has 16
     * tensors, one of the decoder 26 */
    assert_int_equal(file.count, 1 + 4 + 1 + LE * 16 + L * 26);
    assert_non_null(safetensors_find(&file, "model.shared.weight"));
    assert_non_null(safetensors_find(&file, "model.encoder.layer_norm.bias"));
    assert_non_null(safetensors_find(&file, "model.decoder.layer_norm.weight"));
    assert_non_null(safetensors_find(&file, "final_logits_bias"));
    assert_null(safetensors_find(&file, "model.encoder.layers.1.fc1.weight"));
    const BlockParams *decoder = &gpt.params.blocks[1];
    const BlockParams *encoder = &gpt.params.blocks[L]; /* behind the decoder's */
    assert_columns(&file, "model.encoder.layers.0.self_attn.k_proj.weight",
                   encoder->attention.qkv.weight, C, 3 * C, C, C);
    assert_columns(&file, "model.encoder.layers.0.fc1.weight", encoder->mlp.up.weight,
                   C, F, 0, F);
    assert_columns(&file, "model.decoder.layers.1.self_attn.v_proj.weight",
                   decoder->attention.qkv.weight, C, 3 * C, 2 * C, C);
    assert_columns(&file, "model.decoder.layers.1.encoder_attn.q_proj.weight",
                   decoder->cross.q.weight, C, C, 0, C);
    assert_columns(&file, "model.decoder.layers.1.encoder_attn.v_proj.weight",
                   decoder->cross.kv.weight, C, 2 * C, C, C);
    assert_columns(&file, "model.decoder.layers.1.encoder_attn.out_proj.weight",
                   decoder->cross.out.weight, C, C, 0, C);
    assert_columns(&file, "model.decoder.layers.1.fc2.weight", decoder->mlp.down.weight,
                   F, C, 0, C);
    safetensors_close(&file);
    gpt_destroy(&gpt);
}

static void the_config_has_the_fields_of_pegasus(void **state)
{
    (void)state;
    Gpt gpt;
    GptConfig config = small();
    static const struct {
        const char *key;
        int64_t value;
    } FIELDS[] = {{"vocab_size", V},
                  {"max_position_embeddings", 9},
                  {"d_model", C},
                  {"encoder_layers", LE},
                  {"num_hidden_layers", LE},
                  {"decoder_layers", L},
                  {"encoder_attention_heads", C / D},
                  {"decoder_attention_heads", C / D},
                  {"encoder_ffn_dim", F},
                  {"decoder_ffn_dim", F},
                  {"bos_token_id", 1},
                  {"eos_token_id", 2},
                  {"decoder_start_token_id", 1},
                  {"pad_token_id", 2}};
    json_t *file;
    save(&gpt, &config);
    assert_int_equal(json_read_file(&file, config_path, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        int64_t value = -1;
        assert_int_equal(
            json_get_int(&value, file, FIELDS[i].key, 0, 100, config_path, NULL),
            STATUS_OK);
        assert_int_equal(value, FIELDS[i].value);
    }
    bool scaled = false, both = false;
    assert_int_equal(json_get_bool(&scaled, file, "scale_embedding", "", NULL),
                     STATUS_OK);
    assert_int_equal(json_get_bool(&both, file, "is_encoder_decoder", "", NULL),
                     STATUS_OK);
    assert_true(both && scaled);
    /* The class's default would force <bos>. */
    assert_true(json_is_null(json_object_get(file, "forced_eos_token_id")));
    json_decref(file);
    gpt_destroy(&gpt);
}

static void assert_refused(const char *words)
{
    Error err = {.message = ""};
    Gpt found;
    ModelTokens tokens;
    assert_int_equal(weights_load(&found, &tokens, root, &err), STATUS_INPUT);
    assert_null(found.values);
    if (strstr(err.message, words) == NULL)
        fail_msg("expected \"%s\" in: %s", words, err.message);
}

static void another_encoder_decoder_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *words;
    } CASES[] = {
        {"scale_embedding", "1", "scale_embedding"},
        {"encoder_attention_heads", "2", "\"encoder_attention_heads\" is 2"},
        {"decoder_ffn_dim", "24", "\"encoder_ffn_dim\" is 20"},
        {"decoder_start_token_id", "0", "decoder_start_token_id"},
        {"decoder_start_token_id", NULL, "decoder_start_token_id"},
        {"is_encoder_decoder", "false", "is_encoder_decoder"},
        {"encoder_layers", "0", "encoder_layers"},
        {"encoder_layers", "2", "model.encoder.layers.1."},
        {"encoder_layers", "255", "encoder_layers"},
        {"decoder_layers", "1", "model.decoder.layers.1."},
        {"activation_function", "\"relu\"", "activation_function"},
        {"d_model", "\"wide\"", "d_model"},
    };
    Gpt gpt;
    GptConfig config = small();
    save(&gpt, &config);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        json_t *file;
        assert_int_equal(json_read_file(&file, config_path, NULL), STATUS_OK);
        json_t *changed = json_deep_copy(file);
        if (CASES[i].value == NULL)
            json_object_del(changed, CASES[i].key);
        else
            json_object_set_new(changed, CASES[i].key,
                                json_loads(CASES[i].value, JSON_DECODE_ANY, NULL));
        assert_int_equal(json_write_file(config_path, changed, NULL), STATUS_OK);
        assert_refused(CASES[i].words);
        assert_int_equal(json_write_file(config_path, file, NULL), STATUS_OK);
        json_decref(changed);
        json_decref(file);
    }
    gpt_destroy(&gpt);
}

/* The file's tensors with one more, or with the bias of the logits changed. */
static void write_with(const SafeTensors *file, Tensor extra)
{
    Tensor tensors[128];
    size_t count = 0;
    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->tensors[i].name, extra.name) != 0)
            tensors[count++] = file->tensors[i];
    }
    tensors[count++] = extra;
    char other[PATH_SIZE];
    assert_int_equal(safetensors_write(scratch_path(other, root, "other"), tensors,
                                       count, NULL, 0, NULL),
                     STATUS_OK);
    assert_int_equal(rename(other, weights_path), 0);
}

static void tensors_that_the_class_makes_itself_may_be_there(void **state)
{
    (void)state;
    Gpt gpt, found;
    ModelTokens tokens;
    GptConfig config = small();
    SafeTensors file;
    Error err = {.message = ""};
    real zeros[9 * C] = {0};
    save(&gpt, &config);
    assert_int_equal(safetensors_open(&file, weights_path, NULL), STATUS_OK);
    write_with(&file, tensor_of_reals("model.encoder.embed_positions.weight", zeros, 2,
                                      (const int64_t[]){9, C}));
    if (weights_load(&found, &tokens, root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(same_values(&gpt, &found));
    gpt_destroy(&found);
    zeros[3] = (real)0.5;
    write_with(&file,
               tensor_of_reals("final_logits_bias", zeros, 2, (const int64_t[]){1, V}));
    assert_refused("final_logits_bias");
    write_with(&file, tensor_of_reals("model.encoder.layers.0.fc3.weight", zeros, 2,
                                      (const int64_t[]){1, V}));
    assert_refused("fc3");
    safetensors_close(&file);
    gpt_destroy(&gpt);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_round_trip_keeps_every_switch_and_bit),
        TEST(tensors_have_the_names_and_layout_of_pegasus),
        TEST(the_config_has_the_fields_of_pegasus),
        TEST(another_encoder_decoder_is_refused),
        TEST(tensors_that_the_class_makes_itself_may_be_there),
    };
    return cmocka_run_group_tests_name("couplet weights", tests, NULL, NULL);
}
