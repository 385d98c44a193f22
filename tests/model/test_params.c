#include "tests/model/small_model.h"

static ParamTable table_for(const GptConfig *config)
{
    ParamTable table;
    Error err;
    assert_int_equal(param_table_create(&table, config, &err), STATUS_OK);
    return table;
}

static void tensors_are_aligned_and_do_not_overlap(void **state)
{
    (void)state;
    GptConfig config = small_config();
    ParamTable table = table_for(&config);
    assert_int_equal(table.count, 4 + 12 * config.layers);
    size_t end = 0;
    int64_t numbers = 0;
    for (int64_t i = 0; i < table.count; i++) {
        const ParamInfo *info = &table.items[i];
        size_t size = (size_t)(info->rows * info->cols);
        assert_int_equal(info->offset % 16, 0);
        assert_true(info->offset >= end && info->offset < end + 16);
        assert_true(info->is_vector == (info->rows == 1));
        assert_true(info->is_vector ==
                    (info->kind == PARAM_GAIN || info->kind == PARAM_BIAS));
        end = info->offset + size;
        numbers += (int64_t)size;
    }
    assert_true(table.total >= end && table.total < end + 16);
    assert_int_equal(table.parameters, numbers);
    param_table_destroy(&table);
    assert_null(table.items);
}

/* V C + T C + L (12 C^2 + 13 C) + 2 C for F = 4C. */
static void the_default_model_has_the_parameters_of_the_formula(void **state)
{
    (void)state;
    GptConfig config = gpt_config_default();
    config.vocab_size = 7200;
    const int64_t V = 7200, T = 128, C = 128, L = 4;
    ParamTable table = table_for(&config);
    assert_int_equal(table.parameters,
                     V * C + T * C + L * (12 * C * C + 13 * C) + 2 * C);
    assert_int_equal(table.parameters, 1731328);
    param_table_destroy(&table);
}

/* Multi-head attention has 4 C^2 weights whatever the number of heads. */
static void heads_do_not_change_the_number_of_weights(void **state)
{
    (void)state;
    for (int64_t H = 1; H <= 128; H *= 2) {
        GptConfig config = gpt_config_default();
        config.vocab_size = 10;
        config.heads = H;
        config.head_size = config.kv_heads = 0;
        gpt_config_fill(&config);
        ParamTable table = table_for(&config);
        int64_t weights = 0;
        for (int64_t i = 0; i < table.count; i++) {
            if (strstr(table.items[i].name, "h.0.attn.") != NULL &&
                !table.items[i].is_vector)
                weights += table.items[i].rows * table.items[i].cols;
        }
        assert_int_equal(weights, 4 * 128 * 128);
        param_table_destroy(&table);
    }
}

static void names_are_unique_and_found(void **state)
{
    (void)state;
    GptConfig config = small_config();
    config.layers = GPT_LAYERS_MAX; /* the longest names */
    ParamTable table = table_for(&config);
    for (int64_t i = 0; i < table.count; i += i < 40 ? 1 : 83) {
        const ParamInfo *info = &table.items[i];
        assert_ptr_equal(param_table_find(&table, info->name), info); /* the first */
        assert_true(strlen(info->name) < sizeof info->name - 1);      /* not cut */
    }
    const ParamInfo *last =
        param_table_find(&table, "transformer.h.255.mlp.c_proj.weight");
    assert_non_null(last);
    assert_int_equal(last->layer, 255);
    assert_int_equal(last->rows, config.mlp_width);
    assert_int_equal(last->cols, config.width);
    assert_int_equal(last->kind, PARAM_RESIDUAL);
    assert_null(param_table_find(&table, "transformer.h.256.ln_1.weight"));
    assert_null(param_table_find(&table, "wte"));
    assert_null(param_table_find(&table, ""));
    assert_int_equal(param_table_find(&table, "transformer.ln_f.bias")->layer, -1);
    param_table_destroy(&table);
}

/* The view and the table name the same numbers. */
static void the_view_points_where_the_table_says(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt = random_model(&config);
    const GptParams *params = &gpt.params;
    const BlockParams *block = &params->blocks[1];
    const struct {
        const char *name;
        const real *at;
    } places[] = {
        {"transformer.wte.weight", params->tokens},
        {"transformer.wpe.weight", params->positions},
        {"transformer.h.1.ln_1.weight", block->norm1.gain},
        {"transformer.h.1.ln_1.bias", block->norm1.bias},
        {"transformer.h.1.attn.c_attn.weight", block->attention.qkv.weight},
        {"transformer.h.1.attn.c_attn.bias", block->attention.qkv.bias},
        {"transformer.h.1.attn.c_proj.weight", block->attention.out.weight},
        {"transformer.h.1.attn.c_proj.bias", block->attention.out.bias},
        {"transformer.h.1.ln_2.weight", block->norm2.gain},
        {"transformer.h.1.ln_2.bias", block->norm2.bias},
        {"transformer.h.1.mlp.c_fc.weight", block->mlp.up.weight},
        {"transformer.h.1.mlp.c_fc.bias", block->mlp.up.bias},
        {"transformer.h.1.mlp.c_proj.weight", block->mlp.down.weight},
        {"transformer.h.1.mlp.c_proj.bias", block->mlp.down.bias},
        {"transformer.ln_f.weight", params->norm.gain},
        {"transformer.ln_f.bias", params->norm.bias},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const ParamInfo *info = param_table_find(&gpt.table, places[i].name);
        assert_non_null(info);
        assert_ptr_equal(places[i].at, gpt.values + info->offset);
    }
    gpt_destroy(&gpt);
}

/* ---- other models ------------------------------------------------------------------- */

static GptConfig sized(Family family)
{
    GptConfig config = gpt_config_family(family);
    config.vocab_size = 7200;
    return config;
}

static void families_have_the_parameters_of_their_formulas(void **state)
{
    (void)state;
    const int64_t V = 7200, C = 128, L = 4, F = 352, H = 4, G = 2, D = 32;
    GptConfig config = sized(FAMILY_LLAMA);
    ParamTable table = table_for(&config);
    /* 2 C^2 + 2 C G D in attention (attention-facts: GQA has fewer weights than 4 C^2) */
    int64_t attention = 2 * C * C + 2 * C * G * D;
    assert_int_equal(table.parameters, V * C + L * (attention + 3 * C * F + 2 * C) + C);
    param_table_destroy(&table);

    const int64_t R = 64, Rq = 96, P = 32, O = 16, E = 32;
    config = sized(FAMILY_DEEPSEEK);
    table = table_for(&config);
    attention =
        C * Rq + Rq + Rq * H * (P + O) + C * (R + O) + R + R * H * (P + E) + H * E * C;
    assert_int_equal(table.parameters, V * C + L * (attention + 3 * C * F + 2 * C) + C);
    param_table_destroy(&table);

    config = sized(FAMILY_GPT2);
    config.tied = false;
    config.biases = false;
    config.position = POSITION_ROPE;
    config.norm_place = NORM_AFTER;
    table = table_for(&config);
    assert_int_equal(table.parameters, 2 * V * C + L * (4 * C * C + 8 * C * C + 4 * C));
    param_table_destroy(&table);
}

/* The parts of a matrix share out its columns, each one to one slice. */
static void parts_cover_every_column_once(void **state)
{
    (void)state;
    for (int f = FAMILY_GPT2; f <= FAMILY_DEEPSEEK; f++) {
        GptConfig config = sized((Family)f);
        config.removed[1] = 5;
        ParamTable table = table_for(&config);
        for (int64_t t = 0; t < table.count; t++) {
            const ParamInfo *info = &table.items[t];
            int owners[7200] = {0};
            assert_true(info->cols <= 7200);
            for (int p = 0; p < info->parts; p++) {
                const ParamPart *part = &info->part[p];
                for (int64_t i = 0; i < part->heads * part->width; i++) {
                    int64_t at =
                        part->first + i / part->width * part->step + i % part->width;
                    assert_true(at >= 0 && at < info->cols);
                    owners[at]++;
                }
            }
            for (int64_t j = 0; j < info->cols; j++)
                assert_int_equal(owners[j], 1);
            if (info->role == ROLE_OUT)
                assert_int_equal(info->rows / info->head_rows,
                                 gpt_layer_heads(&config, info->layer));
            else
                assert_int_equal(info->head_rows, 0);
        }
        param_table_destroy(&table);
    }
}

/* What a layer without heads keeps is the bias. */
static void a_layer_without_heads_has_no_attention_weights(void **state)
{
    (void)state;
    for (int f = FAMILY_GPT2; f <= FAMILY_DEEPSEEK; f++) {
        GptConfig config = sized((Family)f);
        config.removed[2] = 15;
        Gpt gpt = random_model(&config);
        int64_t count = 0;
        for (int64_t t = 0; t < gpt.table.count; t++) {
            const ParamInfo *info = &gpt.table.items[t];
            bool attention = info->layer == 2 && strstr(info->name, "attn.") != NULL;
            count += attention;
            assert_true(info->rows > 0 && info->cols > 0);
            if (attention)
                assert_int_equal(info->role, ROLE_OUT_BIAS);
        }
        assert_int_equal(count, f == FAMILY_GPT2 ? 1 : 0);
        assert_null(gpt.params.blocks[2].attention.qkv.weight);
        assert_null(gpt.params.blocks[2].mla.out.weight);
        gpt_destroy(&gpt);
    }
}

/* Every tensor has a pointer of its own in the view, and nothing else points into it. */
static void views_of_all_families_point_where_the_table_says(void **state)
{
    (void)state;
    GptConfig config = sized(FAMILY_DEEPSEEK);
    config.tied = false;
    Gpt gpt = random_model(&config);
    const BlockParams *block = &gpt.params.blocks[1];
    const struct {
        const char *name;
        const real *at;
    } places[] = {
        {"model.embed_tokens.weight", gpt.params.tokens},
        {"model.layers.1.input_layernorm.weight", block->norm1.gain},
        {"model.layers.1.self_attn.q_a_proj.weight", block->mla.q_down.weight},
        {"model.layers.1.self_attn.q_a_layernorm.weight", block->mla.q_norm},
        {"model.layers.1.self_attn.q_b_proj.weight", block->mla.q_up.weight},
        {"model.layers.1.self_attn.kv_a_proj_with_mqa.weight",
         block->mla.kv_down.weight},
        {"model.layers.1.self_attn.kv_a_layernorm.weight", block->mla.kv_norm},
        {"model.layers.1.self_attn.kv_b_proj.weight", block->mla.kv_up.weight},
        {"model.layers.1.self_attn.o_proj.weight", block->mla.out.weight},
        {"model.layers.1.post_attention_layernorm.weight", block->norm2.gain},
        {"model.layers.1.mlp.gate_proj.weight", block->swiglu.gate.weight},
        {"model.layers.1.mlp.up_proj.weight", block->swiglu.up.weight},
        {"model.layers.1.mlp.down_proj.weight", block->swiglu.down.weight},
        {"model.norm.weight", gpt.params.norm.gain},
        {"lm_head.weight", gpt.params.head},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const ParamInfo *info = param_table_find(&gpt.table, places[i].name);
        assert_non_null(info);
        assert_ptr_equal(places[i].at, gpt.values + info->offset);
    }
    assert_null(gpt.params.positions);
    assert_null(block->norm1.bias);
    assert_null(block->mlp.up.weight);
    assert_null(block->swiglu.up.bias);
    assert_null(block->attention.qkv.weight);
    gpt_destroy(&gpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_aligned_and_do_not_overlap),
        cmocka_unit_test(the_default_model_has_the_parameters_of_the_formula),
        cmocka_unit_test(heads_do_not_change_the_number_of_weights),
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(the_view_points_where_the_table_says),
        cmocka_unit_test(families_have_the_parameters_of_their_formulas),
        cmocka_unit_test(parts_cover_every_column_once),
        cmocka_unit_test(a_layer_without_heads_has_no_attention_weights),
        cmocka_unit_test(views_of_all_families_point_where_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
