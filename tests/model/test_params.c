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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_aligned_and_do_not_overlap),
        cmocka_unit_test(the_default_model_has_the_parameters_of_the_formula),
        cmocka_unit_test(heads_do_not_change_the_number_of_weights),
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(the_view_points_where_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
