/* Every figure that is known of published models, from tests/configs; the spellings of the
 * families; and what is refused. The program runs from the root of the tree. */
#include "model/gpt/hf_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/json.h"
#include "model/gpt/config_file.h"
#include "model/gpt/params.h"
#include "tests/base/scratch.h"
#include "tests/model/numeric.h"

static void read_file(HfConfig *config, const char *name)
{
    char path[PATH_SIZE];
    Error err = {0};
    snprintf(path, sizeof path, "tests/configs/%s.json", name);
    if (hf_config_read(config, path, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static Status read_text(HfConfig *config, const char *text, Error *err)
{
    return hf_config_read_text(config, text, strlen(text), "c.json", err);
}

/* Text with ' for ". */
static void read_quoted(HfConfig *config, const char *text)
{
    char json[2048];
    Error err = {0};
    snprintf(json, sizeof json, "%s", text);
    for (char *c = json; *c; c++)
        if (*c == '\'')
            *c = '"';
    if (read_text(config, json, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static MemoryCache cache_of(const HfConfig *config, int64_t tokens, int64_t batch,
                            int64_t cards)
{
    MemoryUse use = {tokens, batch, cards, 16};
    MemoryCache cache;
    Error err = {0};
    if (memory_cache(&cache, &config->shape, &use, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return cache;
}

static bool noted(const HfConfig *config, const char *part)
{
    for (int64_t i = 0; i < config->note_count; i++)
        if (strstr(config->notes[i], part))
            return true;
    return false;
}

/* ---- published models --------------------------------------------------------------- */

static const struct {
    const char *name;
    MemoryKind kind;
    int64_t heads, kv_heads, head_size, layers, bytes; /* at 2 bytes a number */
    const char *decided;
} MODELS[] = {
    {"llama-1-7b", MEMORY_MHA, 32, 32, 128, 32, 512 * 1024, "no field for KV heads"},
    {"llama-2-7b", MEMORY_MHA, 32, 32, 128, 32, 512 * 1024, "num_key_value_heads"},
    {"llama-2-70b", MEMORY_GQA, 64, 8, 128, 80, 320 * 1024, "num_key_value_heads"},
    {"llama-3-70b", MEMORY_GQA, 64, 8, 128, 80, 320 * 1024, "num_key_value_heads"},
    {"falcon-7b", MEMORY_MQA, 71, 1, 64, 32, 8 * 1024, "multi_query true"},
    {"llama-3.1-8b", MEMORY_GQA, 32, 8, 128, 32, 131072, "num_key_value_heads"},
    {"llama-3.3-70b", MEMORY_GQA, 64, 8, 128, 80, 320 * 1024, "num_key_value_heads"},
    {"qwen2.5-0.5b", MEMORY_GQA, 14, 2, 64, 24, 12 * 1024, "num_key_value_heads"},
    {"qwen3-8b", MEMORY_GQA, 32, 8, 128, 36, 144 * 1024, "num_key_value_heads"},
    {"gpt-oss-20b", MEMORY_GQA, 64, 8, 64, 24, 48 * 1024, "num_key_value_heads"},
    {"deepseek-v3", MEMORY_MLA, 128, 128, 192, 61, 70272,
     "kv_lora_rank 512 with qk_rope_head_dim 64"},
    {"kimi-k2", MEMORY_MLA, 64, 64, 192, 61, 70272, "kv_lora_rank 512"},
    {"glm-5", MEMORY_MLA, 64, 64, 256, 78, 89856, "kv_lora_rank 512"},
    {"gpt-3", MEMORY_MHA, 96, 96, 128, 96, 4718592, "no field for KV heads"},
    {"mistral-7b", MEMORY_GQA, 32, 8, 128, 32, 131072, "num_key_value_heads"},
    {"palm-540b", MEMORY_MQA, 48, 1, 256, 118, 120832, "num_key_value_heads"},
    {"gpt2", MEMORY_MHA, 12, 12, 64, 12, 36864, "no field for KV heads"},
    {"starcoder", MEMORY_MQA, 48, 1, 128, 40, 20480, "multi_query true"},
    {"falcon-40b", MEMORY_GQA, 128, 8, 64, 60, 122880, "num_kv_heads"},
    {"chatglm2-6b", MEMORY_GQA, 32, 2, 128, 28, 28672, "multi_query_group_num"},
    {"mpt-7b", MEMORY_MHA, 32, 32, 128, 32, 524288, "attn_config.attn_type"},
    {"dbrx", MEMORY_GQA, 48, 8, 128, 40, 163840, "attn_config.kv_n_heads"},
    {"bloom-560m", MEMORY_MHA, 16, 16, 64, 24, 98304, "no field for KV heads"},
    {"opt-125m", MEMORY_MHA, 12, 12, 64, 12, 36864, "no field for KV heads"},
    {"pythia-160m", MEMORY_MHA, 12, 12, 64, 12, 36864, "no field for KV heads"},
    {"phi-2", MEMORY_MHA, 32, 32, 80, 32, 327680, "num_key_value_heads"},
    {"gemma-7b", MEMORY_MHA, 16, 16, 256, 28, 458752, "num_key_value_heads"},
    {"gemma-3-4b", MEMORY_GQA, 8, 4, 256, 34, 139264, "num_key_value_heads (missing)"},
    {"llama-4-scout", MEMORY_GQA, 40, 8, 128, 48, 196608, "num_key_value_heads"},
    {"deepseek-v2-lite", MEMORY_MLA, 16, 16, 192, 27, 31104, "kv_lora_rank 512"},
    {"qwen3-next-80b", MEMORY_GQA, 16, 2, 256, 48, 24576, "num_key_value_heads"},
    {"jamba-v0.1", MEMORY_GQA, 32, 8, 128, 32, 16384, "num_key_value_heads"},
    {"bart-base", MEMORY_MHA, 12, 12, 64, 6, 18432, "no field for KV heads"},
};

static void published_models_have_their_kind_sizes_and_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
        HfConfig config;
        read_file(&config, MODELS[i].name);
        const MemoryShape *shape = &config.shape;
        MemoryCache cache = cache_of(&config, 0, 1, 1);
        if (shape->kind != MODELS[i].kind || shape->query_heads != MODELS[i].heads ||
            shape->kv_heads != MODELS[i].kv_heads ||
            shape->head_size != MODELS[i].head_size ||
            shape->layers != MODELS[i].layers ||
            (int64_t)cache.per_token != MODELS[i].bytes ||
            !strstr(hf_config_source(&config, "kind"), MODELS[i].decided))
            fail_msg("%s: %s %lld/%lld, %lld, %lld layers, %lld B by %s",
                     MODELS[i].name, MEMORY_KIND_NAMES[shape->kind],
                     (long long)shape->query_heads, (long long)shape->kv_heads,
                     (long long)shape->head_size, (long long)shape->layers,
                     (long long)cache.per_token, hf_config_source(&config, "kind"));
    }
}

static void mha_equivalents_are_what_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t bytes;
    } FIGURES[] = {
        {"llama-3.1-8b", 524288},
        {"deepseek-v3", 4997120}, /* 4.77 MiB, 71 times 70,272 B */
        {"falcon-7b", 71 * 8192},
    };
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++) {
        HfConfig config;
        read_file(&config, FIGURES[i].name);
        assert_int_equal(cache_of(&config, 0, 1, 1).mha_per_token, FIGURES[i].bytes);
    }
}

static void long_texts_take_the_published_amounts(void **state)
{
    (void)state;
    const int64_t MIB = 1 << 20, GIB = 1 << 30;
    HfConfig config;
    read_file(&config, "llama-3-70b");
    assert_int_equal(cache_of(&config, 4096, 1, 1).total, 5 * GIB / 4); /* 1.25 GiB */
    assert_int_equal(cache_of(&config, 4096, 1, 1).mha_total, 10 * GIB);
    assert_int_equal(cache_of(&config, 4096, 8, 1).mha_total, 80 * GIB);
    read_file(&config, "llama-3-70b-as-mha");
    assert_int_equal(cache_of(&config, 4096, 1, 1).total, 10 * GIB);
    assert_int_equal(cache_of(&config, 4096, 8, 1).total, 80 * GIB);
    read_file(&config, "llama-3-70b-as-mqa");
    assert_int_equal(config.shape.kind, MEMORY_MQA);
    assert_int_equal(cache_of(&config, 4096, 1, 1).total, 160 * MIB);
    read_file(&config, "llama-3.1-8b");
    assert_int_equal(cache_of(&config, 32768, 1, 1).total, 4 * GIB);
    assert_int_equal(cache_of(&config, 32768, 1, 1).mha_total, 16 * GIB);
}

static void windows_bound_the_layers_that_have_them(void **state)
{
    (void)state;
    HfConfig config;
    read_file(&config, "gpt-oss-20b");
    MemoryCache cache = cache_of(&config, 131072, 1, 1);
    assert_int_equal(cache.total, 12 * 2048LL * (131072 + 128)); /* 3.003 GiB */
    assert_true(fabs((double)cache.total / (1 << 30) - 3.003) < 5e-4);
    assert_string_equal(hf_config_source(&config, "windows"),
                        "layer_types, sliding_window");
    read_file(&config, "mistral-7b"); /* all layers */
    cache = cache_of(&config, 32768, 1, 1);
    assert_int_equal(cache.total, 4096LL * 131072);
    assert_int_equal(cache.window_layers, 32);
    read_file(&config, "gemma-2-2b"); /* every second sees all */
    cache = cache_of(&config, 8192, 1, 1);
    assert_int_equal(cache.total, 13 * 4096LL * (8192 + 4096));
    read_file(&config, "gemma-3-1b"); /* every sixth sees all: 4 of 26 */
    assert_int_equal(cache_of(&config, 1, 1, 1).window_layers, 22);
    read_file(&config, "gemma-3-4b"); /* 5 of 34 */
    assert_int_equal(cache_of(&config, 1, 1, 1).window_layers, 29);
    read_file(&config, "command-r7b"); /* every fourth */
    assert_int_equal(cache_of(&config, 1, 1, 1).window_layers, 24);
    read_file(&config, "llama-4-scout"); /* chunks on three of four */
    cache = cache_of(&config, 100000, 1, 1);
    assert_int_equal(cache.total, 4096LL * (12 * 100000 + 36 * 8192));
    read_file(&config, "qwen2.5-0.5b"); /* turned off */
    assert_int_equal(cache_of(&config, 1, 1, 1).window_layers, 0);
    read_file(&config, "qwen3-next-80b"); /* every fourth is attention */
    assert_int_equal(cache_of(&config, 1, 1, 1).cached_layers, 12);
    read_file(&config, "jamba-v0.1"); /* one of eight */
    assert_int_equal(cache_of(&config, 1, 1, 1).cached_layers, 4);
}

static void eight_kv_heads_on_sixteen_cards_are_copied(void **state)
{
    (void)state;
    HfConfig config;
    read_file(&config, "llama-3-70b");
    int64_t on_eight = cache_of(&config, 4096, 1, 8).card_total;
    assert_int_equal(on_eight * 8, cache_of(&config, 4096, 1, 1).total);
    assert_int_equal(cache_of(&config, 4096, 1, 16).card_total, on_eight);
    assert_int_equal(cache_of(&config, 4096, 1, 64).card_total, on_eight);
}

/* Known numbers of weights, of the language model alone; tests/configs/README.md says how
 * far they are independent of the count. */
static void weights_are_counted_to_the_last_one(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t weights;
    } COUNTS[] = {
        {"llama-2-7b", 6738415616},        {"llama-2-70b", 68976648192},
        {"llama-3.1-8b", 8030261248},      {"llama-3.3-70b", 70553706496},
        {"falcon-7b", 6921720704},         {"falcon-40b", 41303293952},
        {"qwen2.5-0.5b", 494032768},       {"qwen3-8b", 8190735360},
        {"gpt-oss-20b", 20914757184},      {"deepseek-v3", 671026419200},
        {"mistral-7b", 7241732096},        {"gpt2", 124439808},
        {"starcoder", 15517456384},        {"starcoder2-3b", 3030371328},
        {"chatglm2-6b", 6243584000},       {"mpt-7b", 6649286656},
        {"bloom-560m", 559214592},         {"opt-125m", 125239296},
        {"opt-350m", 331196416},           {"pythia-160m", 162322944},
        {"gpt-j-6b", 6050882784},          {"phi-2", 2779683840},
        {"phi-3-mini", 3821079552},        {"gemma-7b", 8537680896},
        {"gemma-2-2b", 2614341888},        {"gemma-3-1b", 999885952},
        {"gemma-3-4b", 3880263168},        {"mixtral-8x7b", 46702792704},
        {"qwen1.5-moe", 14315784192},      {"qwen3-30b-a3b", 30532122624},
        {"command-r", 34980831232},        {"command-r7b", 8028033024},
        {"olmo-2-7b", 7298617344},         {"llama-4-scout", 107769861120},
        {"deepseek-v2-lite", 15706484224},
    };
    for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++) {
        HfConfig config;
        MemoryParameters parameters;
        read_file(&config, COUNTS[i].name);
        if (!config.shape.weights.known)
            fail_msg("%s: not counted", COUNTS[i].name);
        assert_int_equal(memory_parameters(&parameters, &config.shape, NULL),
                         STATUS_OK);
        if (parameters.total != COUNTS[i].weights)
            fail_msg("%s: expected %lld weights, found %lld", COUNTS[i].name,
                     (long long)COUNTS[i].weights, (long long)parameters.total);
    }
}

/* As published, in round figures: 671 thousand million, 37 of them for a token. */
static void mixtures_meet_the_published_share(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double total, active;
    } SHARES[] = {
        {"deepseek-v3", 671e9, 37e9},   {"kimi-k2", 1e12, 32e9},
        {"glm-5", 744e9, 40e9},         {"qwen3-30b-a3b", 30.5e9, 3.3e9},
        {"gpt-oss-20b", 20.9e9, 4.2e9},
    };
    for (size_t i = 0; i < sizeof SHARES / sizeof *SHARES; i++) {
        HfConfig config;
        MemoryParameters parameters;
        read_file(&config, SHARES[i].name);
        assert_int_equal(memory_parameters(&parameters, &config.shape, NULL),
                         STATUS_OK);
        assert_true(fabs((double)parameters.total / SHARES[i].total - 1) < 0.03);
        assert_true(fabs((double)parameters.active / SHARES[i].active - 1) < 0.05);
    }
}

static void own_checkpoints_are_read(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[PATH_SIZE];
    GptConfig own = gpt_config_default();
    ModelTokens tokens = {.bos = 1, .eos = 2};
    HfConfig config;
    ParamTable table;
    MemoryParameters parameters;
    own.vocab_size = 7294;
    scratch_create(folder);
    assert_int_equal(config_file_save(&own, &tokens, folder, NULL), STATUS_OK);
    scratch_path(path, folder, "config.json");
    assert_int_equal(hf_config_read(&config, path, NULL), STATUS_OK);
    assert_int_equal(config.shape.kind, MEMORY_MHA);
    assert_int_equal(config.shape.query_heads, own.heads);
    assert_int_equal(config.shape.head_size, own.head_size);
    assert_int_equal(config.bits, 8 * sizeof(real));
    assert_int_equal(config.note_count, 0);
    assert_int_equal(param_table_create(&table, &own, NULL), STATUS_OK);
    assert_int_equal(memory_parameters(&parameters, &config.shape, NULL), STATUS_OK);
    assert_int_equal(parameters.total, table.parameters);
    param_table_destroy(&table);
    scratch_remove(folder);
}

/* ---- spellings ---------------------------------------------------------------------- */

static void one_model_in_many_spellings(void **state)
{
    (void)state;
    static const char *const SPELLINGS[] = {
        "{'num_hidden_layers':6,'num_attention_heads':8,'num_key_value_heads':2,"
        "'hidden_size':512}",
        "{'n_layer':6,'n_head':8,'n_head_kv':2,'n_embd':512}",
        "{'n_layers':6,'n_heads':8,'attn_config':{'kv_n_heads':2},'d_model':512}",
        "{'n_layers':6,'n_heads':8,'attn_config':{'kv_n_heads':2,'attn_type':"
        "'grouped_query_attention'},'d_model':512}",
        "{'num_layers':6,'num_attention_heads':8,'multi_query_attention':true,"
        "'multi_query_group_num':2,'kv_channels':64,'hidden_size':512}",
        "{'num_layers':6,'num_heads':8,'num_kv_heads':2,'d_kv':64}",
        "{'num_hidden_layers':6,'num_attention_heads':8,'num_key_value_heads':2,"
        "'head_dim':64,'hidden_size':4096}",
        "{'n_layer':6,'n_head':8,'num_kv_heads':2,'hidden_size':512,"
        "'new_decoder_architecture':true,'multi_query':true}",
        "{'model_type':'RefinedWeb','n_layer':6,'n_head':8,'n_head_kv':2,"
        "'hidden_size':512,'multi_query':true}",
        "{'text_config':{'n_layer':6,'n_head':8,'n_head_kv':2,'n_embd':512}}",
        "{'hidden_size':99,'language_config':{'n_layer':6,'n_head':8,'n_head_kv':2,"
        "'n_embd':512}}",
        "{'thinker_config':{'text_config':{'n_layer':6,'n_head':8,'n_head_kv':2,"
        "'n_embd':512}}}",
        "{'num_hidden_layers':6,'num_attention_heads':8,'num_key_value_heads':2,"
        "'hidden_size':512,'kv_lora_rank':null,'qk_rope_head_dim':64,"
        "'sliding_window':null,'layer_types':null,'head_dim':null}",
        "{'num_hidden_layers':6,'num_attention_heads':8,'num_key_value_heads':2,"
        "'hidden_size':512,'use_mla':false,'kv_lora_rank':32,'qk_rope_head_dim':8}",
    };
    for (size_t i = 0; i < sizeof SPELLINGS / sizeof *SPELLINGS; i++) {
        HfConfig config;
        read_quoted(&config, SPELLINGS[i]);
        const MemoryShape *shape = &config.shape;
        if (shape->kind != MEMORY_GQA || shape->layers != 6 ||
            shape->query_heads != 8 || shape->kv_heads != 2 || shape->head_size != 64 ||
            cache_of(&config, 0, 1, 1).per_token != 2 * 6 * 2 * 64 * 2)
            fail_msg("%s: %s, %lld layers, %lld/%lld heads of %lld", SPELLINGS[i],
                     MEMORY_KIND_NAMES[shape->kind], (long long)shape->layers,
                     (long long)shape->query_heads, (long long)shape->kv_heads,
                     (long long)shape->head_size);
    }
}

/* Layers with a window, and layers that keep anything at all, of 8. */
static void every_way_to_say_which_layers(void **state)
{
    (void)state;
#define SIZES                                                                          \
    "'num_hidden_layers':8,'num_attention_heads':4,'num_key_value_heads':2,"           \
    "'head_dim':64,"
    static const struct {
        const char *text;
        int64_t windows, cached;
    } WAYS[] = {
        {"{" SIZES "'sliding_window':null}", 0, 8},
        {"{" SIZES "'model_type':'mistral','sliding_window':16}", 8, 8},
        {"{" SIZES "'model_type':'mistral','sliding_window':null}", 0, 8},
        {"{" SIZES "'model_type':'mistral'}", 8, 8}, /* noted */
        {"{" SIZES "'model_type':'llama','sliding_window':16}", 0, 8},
        {"{" SIZES "'model_type':'qwen2','sliding_window':16,'use_sliding_window':true,"
         "'max_window_layers':5}",
         3, 8},
        {"{" SIZES "'model_type':'qwen2','sliding_window':16,'max_window_layers':5}", 0,
         8},
        {"{" SIZES
         "'model_type':'qwen2','sliding_window':16,'use_sliding_window':true}",
         0, 8}, /* from layer 28 on */
        {"{" SIZES "'model_type':'qwen3_moe','sliding_window':16}", 0, 8},
        {"{" SIZES "'model_type':'qwen3_moe','sliding_window':16,"
         "'use_sliding_window':true}",
         8, 8},
        {"{" SIZES "'model_type':'gemma2','sliding_window':16}", 4, 8},
        {"{" SIZES "'model_type':'cohere2','sliding_window':16}", 6, 8},
        {"{" SIZES "'sliding_window':16,'sliding_window_pattern':3}", 6, 8},
        {"{" SIZES "'sliding_window':16,'sliding_window_pattern':'LLLG'}", 6, 8},
        {"{" SIZES "'sliding_window':16}", 0, 8}, /* noted: which layers? */
        {"{" SIZES "'sliding_window':16,'layer_types':['sliding_attention',"
         "'sliding_attention','sliding_attention','full_attention','full_attention',"
         "'full_attention','full_attention','full_attention']}",
         3, 8},
        {"{" SIZES "'layer_types':['linear_attention','mamba','conv','full_attention',"
         "'attention','recurrent','conv','conv']}",
         0, 2},
        {"{" SIZES "'layers_block_type':['mamba','mamba','mamba','attention','mamba',"
         "'mamba','mamba','mamba']}",
         0, 1},
        {"{" SIZES "'hybrid_override_pattern':'M-M*-*M-'}", 0, 2},
        {"{" SIZES "'attn_layer_indices':[1,4,7]}", 0, 3},
        {"{" SIZES "'full_attn_idxs':[0]}", 0, 1},
        {"{" SIZES "'attn_type_list':[0,0,0,1,0,0,0,1]}", 0, 2},
        {"{" SIZES "'attn_layer_period':4,'attn_layer_offset':1}", 0, 2},
        {"{" SIZES "'full_attention_interval':3}", 0, 2},
        {"{" SIZES "'num_kv_shared_layers':3}", 0, 5},
        {"{" SIZES "'model_type':'llama4_text','attention_chunk_size':16}", 6, 8},
        {"{" SIZES "'model_type':'llama4_text','attention_chunk_size':16,"
         "'no_rope_layers':[1,0,0,0,0,0,0,1]}",
         2, 8},
        {"{" SIZES "'model_type':'llama4_text','attention_chunk_size':16,"
         "'no_rope_layer_interval':2}",
         4, 8},
    };
    for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++) {
        HfConfig config;
        read_quoted(&config, WAYS[i].text);
        MemoryCache cache = cache_of(&config, 100, 1, 1);
        const int64_t row = 2 * 2 * 64 * 2;
        int64_t window = strstr(WAYS[i].text, "':16") ? 16 : 4096;
        int64_t kept = window < 100 ? window : 100;
        int64_t total =
            row * (WAYS[i].windows * kept + (WAYS[i].cached - WAYS[i].windows) * 100);
        if (cache.window_layers != WAYS[i].windows ||
            cache.cached_layers != WAYS[i].cached || cache.total != total)
            fail_msg("%s: %lld windows, %lld cached, %lld B", WAYS[i].text,
                     (long long)cache.window_layers, (long long)cache.cached_layers,
                     (long long)cache.total);
    }
}

static void layers_with_windows_may_have_other_heads(void **state)
{
    (void)state;
    HfConfig config;
    read_quoted(
        &config,
        "{'num_hidden_layers':2,'num_attention_heads':8,'num_key_value_heads':2,"
        "'head_dim':64,'v_head_dim':32,'sliding_window':16,"
        "'layer_types':['full_attention','sliding_attention'],"
        "'swa_num_key_value_heads':4,'swa_head_dim':16,'swa_v_head_dim':8}");
    MemoryCache cache = cache_of(&config, 0, 1, 1);
    assert_int_equal(cache.per_token, 2 * (2 * (64 + 32) + 4 * (16 + 8)));
    assert_int_equal(cache.per_token_full, 2 * 2 * (64 + 32));
    assert_int_equal(config.shape.kv_heads, 2);
}

/* Inside, else at the top of the file, else as the family has it. */
static void the_head_is_tied_where_a_file_says_so(void **state)
{
    (void)state;
#define BLOCKS                                                                         \
    "'num_hidden_layers':1,'num_attention_heads':2,'num_key_value_heads':2,"           \
    "'hidden_size':64,'intermediate_size':8,'vocab_size':100"
    static const struct {
        const char *text;
        bool tied;
    } FILES[] = {
        {"{'model_type':'llama'," BLOCKS "}", false},
        {"{'model_type':'llama','tie_word_embeddings':true," BLOCKS "}", true},
        {"{'model_type':'gemma'," BLOCKS "}", true},
        {"{'model_type':'gemma','tie_word_embeddings':false," BLOCKS "}", false},
        {"{'tie_word_embeddings':true,'text_config':{'model_type':'llama'," BLOCKS "}}",
         true},
        {"{'tie_word_embeddings':true,'text_config':{'model_type':'llama',"
         "'tie_word_embeddings':false," BLOCKS "}}",
         false},
    };
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        HfConfig config;
        MemoryParameters parameters;
        read_quoted(&config, FILES[i].text);
        assert_int_equal(memory_parameters(&parameters, &config.shape, NULL),
                         STATUS_OK);
        assert_int_equal(parameters.embedding, (FILES[i].tied ? 1 : 2) * 64 * 100);
    }
}

static void the_type_of_numbers_is_read_where_it_stands(void **state)
{
    (void)state;
#define SMALL "'num_hidden_layers':2,'num_attention_heads':2,'head_dim':32"
    static const struct {
        const char *text, *dtype, *field;
        int64_t bits;
    } TYPES[] = {
        {"{" SMALL ",'torch_dtype':'bfloat16'}", "bfloat16", "torch_dtype", 16},
        {"{" SMALL ",'dtype':'float32'}", "float32", "dtype", 32},
        {"{" SMALL ",'dtype':'float16','torch_dtype':'float16'}", "float16",
         "torch_dtype", 16},
        {"{" SMALL ",'torch_dtype':'torch.float16'}", "torch.float16", "torch_dtype",
         16},
        {"{" SMALL "}", "", "", 0},
        {"{" SMALL ",'torch_dtype':null}", "", "", 0},
        {"{" SMALL ",'torch_dtype':'auto'}", "auto", "torch_dtype", 0},
        {"{'torch_dtype':'bfloat16','text_config':{" SMALL "}}", "bfloat16",
         "torch_dtype", 16},
        {"{'torch_dtype':'float32','text_config':{" SMALL ",'dtype':'bfloat16'}}",
         "bfloat16", "dtype", 16},
    };
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        HfConfig config;
        read_quoted(&config, TYPES[i].text);
        assert_string_equal(config.dtype, TYPES[i].dtype);
        assert_string_equal(hf_config_source(&config, "dtype"), TYPES[i].field);
        assert_int_equal(config.bits, TYPES[i].bits);
    }
    assert_int_equal(hf_dtype_bits("int4"), 4);
    assert_int_equal(hf_dtype_bits("float8_e4m3fn"), 8);
    assert_int_equal(hf_dtype_bits("quaternion"), 0);
}

/* ---- notes and refusals ------------------------------------------------------------- */

static void what_a_file_leaves_open_is_noted(void **state)
{
    (void)state;
#define LLAMA                                                                          \
    "'model_type':'llama','num_hidden_layers':2,'num_attention_heads':4,"              \
    "'hidden_size':256,'intermediate_size':64,'vocab_size':10"
    static const struct {
        const char *text, *note;
    } NOTES[] = {
        {"{" SMALL ",'multi_query':true,'num_kv_heads':2}",
         "num_kv_heads 2 is not used: multi_query is true"},
        {"{" SMALL ",'model_type':'falcon'}", "multi_query is missing: true"},
        {"{'num_hidden_layers':2,'num_attention_heads':16,'head_dim':32,"
         "'model_type':'mistral'}",
         "num_key_value_heads is missing: 8, as mistral"},
        {"{" SMALL ",'model_type':'mistral','num_key_value_heads':2}",
         "sliding_window is missing: 4096"},
        {"{" SMALL ",'sliding_window':16}", "for which layers is not said"},
        {"{" LLAMA ",'sliding_window':16}", "llama has no windows"},
        {"{" SMALL ",'multi_query_group_num':1}", "without multi_query_attention"},
        {"{" SMALL ",'kv_lora_rank':8,'qk_rope_head_dim':4,'use_mla':false}",
         "use_mla is false"},
        {"{" SMALL ",'kv_lora_rank':8,'qk_rope_head_dim':4}",
         "qk_nope_head_dim is missing: no MHA to compare with"},
        {"{" SMALL ",'kv_lora_rank':8,'qk_rope_head_dim':4,'qk_nope_head_dim':4}",
         "v_head_dim is missing: no MHA to compare with"},
        {"{" SMALL ",'index_head_dim':128}", "indexer caches 128 numbers more"},
        {"{" SMALL ",'num_kv_shared_layers':1}", "last 1 layers read keys and values"},
        {"{" SMALL ",'model_type':'new'}", "model_type new: how its blocks"},
        {"{" SMALL "}", "model_type is missing: how its blocks"},
        {"{" SMALL ",'kv_compression':3,'window_type':'x'}",
         "may change the cache: kv_compression, window_type"},
        {"{'num_hidden_layers':2,'num_attention_heads':2,'head_dim':16}",
         "a head size of 16 is small"},
        {"{'num_hidden_layers':3,'text_config':{" SMALL "}}",
         "the sizes beside text_config differ"},
        {"{'vision_config':{},'text_config':{" SMALL "}}",
         "vision_config: its weights"},
        {"{" SMALL ",'num_nextn_predict_layers':1}", "multi-token prediction"},
        {"{" SMALL ",'is_encoder_decoder':true}",
         "cross-attention caches as much again"},
        {"{" SMALL ",'architectures':['BertForMaskedLM']}", "keeps no cache"},
        {"{" SMALL ",'torch_dtype':'strange'}", "\"strange\" is not known"},
        {"{'model_type':'llama','num_hidden_layers':2,'num_attention_heads':2,"
         "'hidden_size':64,'intermediate_size':8}",
         "vocab_size is missing: weights are not counted"},
    };
    for (size_t i = 0; i < sizeof NOTES / sizeof *NOTES; i++) {
        HfConfig config;
        read_quoted(&config, NOTES[i].text);
        if (!noted(&config, NOTES[i].note))
            fail_msg("%s: no note with '%s', the first is '%s'", NOTES[i].text,
                     NOTES[i].note, config.notes[0]);
    }
    HfConfig config;
    read_quoted(&config, "{" LLAMA ",'attention_dropout':0.1,'use_cache':true,"
                         "'fused_qkv':true,'chunk_size_feed_forward':0}");
    assert_int_equal(config.note_count, 0); /* a complete file needs no note */
    assert_true(config.shape.weights.known);
}

static void guesses_are_refused(void **state)
{
    (void)state;
#define HEADS "'num_hidden_layers':2,'num_attention_heads':4,'head_dim':32"
    static const struct {
        const char *text, *part;
    } CASES[] = {
        {"", "c.json"},
        {"[]", "expected an object"},
        {"{'num_hidden_layers':2", "c.json: line 1"},
        {"{}", "the number of layers is missing: expected \"num_hidden_layers\""},
        {"{'num_hidden_layers':2}", "the number of attention heads is missing"},
        {"{'num_hidden_layers':2,'num_attention_heads':4}", "or the width is missing"},
        {"{'num_hidden_layers':-1,'num_attention_heads':4}",
         "\"num_hidden_layers\": expected 1 to 65536, found -1"},
        {"{'num_hidden_layers':0,'num_attention_heads':4}", "found 0"},
        {"{'num_hidden_layers':1e300}", "expected an integer, found a number"},
        {"{'num_hidden_layers':1e999}", "c.json: line 1"},
        {"{'num_hidden_layers':9223372036854775807}", "found 9223372036854775807"},
        {"{'num_hidden_layers':99999999999999999999}", "c.json: line 1"},
        {"{'num_hidden_layers':'32'}", "expected an integer, found a text"},
        {"{'num_hidden_layers':true}", "found true"},
        {"{'num_hidden_layers':[1,2]}", "found an array"},
        {"{'num_hidden_layers':null,'num_attention_heads':4}", "is missing"},
        {"{" HEADS ",'num_key_value_heads':3}",
         "4 query heads (num_attention_heads) cannot share 3 KV heads"},
        {"{" HEADS ",'num_key_value_heads':8}", "cannot share 8 KV heads"},
        {"{" HEADS ",'num_key_value_heads':-8}", "found -8"},
        {"{" HEADS ",'num_key_value_heads':'x'}", "found a text"},
        {"{" HEADS ",'num_key_value_heads':2,'num_kv_heads':1}",
         "\"num_key_value_heads\" is 2, but \"num_kv_heads\" is 1"},
        {"{" HEADS ",'n_layer':3}", "\"num_hidden_layers\" is 2, but \"n_layer\" is 3"},
        {"{" HEADS ",'n_head':8}", "\"num_attention_heads\" is 4, but \"n_head\" is 8"},
        {"{" HEADS ",'multi_query':true,'num_key_value_heads':2}",
         "\"multi_query\" is true, but \"num_key_value_heads\" is 2"},
        {"{" HEADS ",'multi_query':'yes'}", "expected true or false, found a text"},
        {"{" HEADS ",'multi_query_attention':true}", "\"multi_query_group_num\" is"},
        {"{" HEADS ",'multi_query_attention':true,'multi_query_group_num':2,"
         "'num_key_value_heads':4}",
         "\"multi_query_group_num\" is 2"},
        {"{" HEADS ",'attn_config':{'attn_type':'multiquery_attention',"
         "'kv_n_heads':2}}",
         "multiquery_attention, but \"attn_config.kv_n_heads\" is 2"},
        {"{" HEADS ",'attn_config':{'attn_type':'multihead_attention','kv_n_heads':2}}",
         "multihead_attention, but"},
        {"{" HEADS ",'attn_config':{'attn_type':'grouped_query_attention'}}",
         "kv_n_heads is missing"},
        {"{'num_hidden_layers':2,'num_attention_heads':3,'hidden_size':100}",
         "\"hidden_size\" 100 is no multiple of the 3 attention heads"},
        {"{" HEADS ",'kv_lora_rank':512}", "\"qk_rope_head_dim\" is missing"},
        {"{" HEADS ",'kv_lora_rank':-512,'qk_rope_head_dim':64}", "found -512"},
        {"{" HEADS ",'layer_types':['full_attention']}", "1 entries for 2 layers"},
        {"{" HEADS ",'layer_types':['full_attention','moon_attention']}",
         "\"moon_attention\" caches is not known"},
        {"{" HEADS ",'layer_types':'full_attention'}", "expected a list, found a text"},
        {"{" HEADS ",'layer_types':[1,2]}", "expected texts, found an integer"},
        {"{" HEADS ",'layer_types':['sliding_attention','full_attention']}",
         "\"sliding_window\" is missing"},
        {"{" HEADS ",'layer_types':['sliding_attention','full_attention'],"
         "'sliding_window':8,'use_sliding_window':false}",
         "turned off"},
        {"{" HEADS ",'layer_types':['chunked_attention','full_attention']}",
         "\"attention_chunk_size\" is missing"},
        {"{" HEADS ",'sliding_window':-1}", "\"sliding_window\": expected 1 to"},
        {"{" HEADS ",'sliding_window':8,'sliding_window_pattern':'LXG'}", "letters L"},
        {"{" HEADS ",'sliding_window':8,'sliding_window_pattern':0}", "found 0"},
        {"{" HEADS ",'hybrid_override_pattern':'M'}", "1 entries for 2 layers"},
        {"{" HEADS ",'attn_layer_indices':[2]}", "0 to 1"},
        {"{" HEADS ",'attn_type_list':[0,2]}", "0 and 1 only"},
        {"{" HEADS ",'num_kv_shared_layers':2}", "expected 0 to 1, found 2"},
        {"{" HEADS ",'block_configs':[{}]}", "would be a guess"},
        {"{" HEADS ",'linear_attn_config':{}}", "would be a guess"},
        {"{" HEADS ",'torch_dtype':'float16','dtype':'float32'}",
         "\"torch_dtype\" is \"float16\", but \"dtype\" is \"float32\""},
        {"{" HEADS ",'torch_dtype':16}", "expected a text"},
        {"{" HEADS ",'model_type':7}", "\"model_type\": expected a text"},
        {"{'text_config':{" HEADS "},'language_config':{'n_layer':1}}", "and differ"},
        {"{'text_config':{'num_hidden_layers':-2}}", "c.json: text_config: \"num_hid"},
        {"{'num_hidden_layers':2,'num_attention_heads':4,'head_dim':-1}", "found -1"},
        {"{" HEADS ",'sliding_window':4,'layer_types':['sliding_attention',"
         "'full_attention'],'swa_num_key_value_heads':3}",
         "layers with a window: 4 query heads cannot share 3"},
        {"{'model_type':'qwen3_moe'," HEADS ",'hidden_size':128,'vocab_size':9,"
         "'num_experts':4,'num_experts_per_tok':5,'moe_intermediate_size':8}",
         "\"num_experts_per_tok\": expected 1 to 4, found 5"},
        {"{'model_type':'qwen3_moe'," HEADS ",'hidden_size':128,'vocab_size':9,"
         "'num_experts':4,'num_experts_per_tok':2,'moe_intermediate_size':8,"
         "'mlp_only_layers':[2]}",
         "\"mlp_only_layers\": expected numbers of layers"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char json[1024];
        HfConfig config;
        Error err = {0};
        snprintf(json, sizeof json, "%s", CASES[i].text);
        for (char *c = json; *c; c++)
            if (*c == '\'')
                *c = '"';
        Status status = read_text(&config, json, &err);
        if (status != STATUS_INPUT || strstr(err.message, CASES[i].part) == NULL ||
            strncmp(err.message, "c.json", 6) != 0)
            fail_msg("%s: expected '%s', found %d '%s'", CASES[i].text, CASES[i].part,
                     status, err.message);
    }
}

/* What was read is either counted or refused: never a crash, never a negative figure. */
static void count_or_refuse(const json_t *object, const char *what)
{
    char *text = json_dumps(object, JSON_ENCODE_ANY);
    HfConfig config;
    Error err = {0};
    assert_non_null(text);
    Status status = read_text(&config, text, &err);
    free(text);
    if (status != STATUS_OK) {
        if (status != STATUS_INPUT || strncmp(err.message, "c.json", 6) != 0)
            fail_msg("%s: %d '%s'", what, status, err.message);
        return;
    }
    MemoryUse use = {100000, 3, 2, 4};
    MemoryCache cache = {0};
    MemoryParameters parameters = {0};
    status = memory_cache(&cache, &config.shape, &use, &err);
    if (status == STATUS_OK)
        assert_true(cache.total >= 0 && cache.per_token_full <= cache.per_token &&
                    cache.total <= cache.total_unbounded && cache.card_total >= 0);
    else
        assert_true(status == STATUS_USAGE || status == STATUS_INPUT);
    if (!config.shape.weights.known)
        return;
    status = memory_parameters(&parameters, &config.shape, &err);
    assert_true(status == STATUS_INPUT ||
                (status == STATUS_OK && parameters.attention > 0 &&
                 parameters.active <= parameters.total));
}

static void damage_object(json_t *root, json_t *object, const char *name)
{
    static const char *const VALUES[] = {"null",
                                         "true",
                                         "false",
                                         "0",
                                         "-1",
                                         "1",
                                         "3",
                                         "1e300",
                                         "0.5",
                                         "\"x\"",
                                         "[]",
                                         "{}",
                                         "2147483647",
                                         "65536",
                                         "[7]",
                                         "[\"x\"]",
                                         "9223372036854775807",
                                         "-9223372036854775808"};
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value)
    {
        json_t *kept = json_incref(value);
        if (json_is_object(value))
            damage_object(root, value, name);
        for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) {
            json_t *other = json_loads(VALUES[i], JSON_DECODE_ANY, NULL);
            assert_non_null(other);
            json_object_set_new(object, key, other);
            count_or_refuse(root, name);
        }
        json_object_set_new(object, key, kept);
    }
}

static void any_field_with_any_value_is_counted_or_refused(void **state)
{
    (void)state;
    static const char *const NAMES[] = {
        "gpt-oss-20b", "deepseek-v3", "glm-5",         "falcon-7b", "chatglm2-6b",
        "mpt-7b",      "gemma-3-4b",  "llama-4-scout", "opt-350m",  "qwen1.5-moe",
        "qwen3-8b",    "jamba-v0.1",  "bart-base",     "gpt2",      "command-r7b"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char path[PATH_SIZE];
        json_t *root;
        snprintf(path, sizeof path, "tests/configs/%s.json", NAMES[i]);
        assert_int_equal(json_read_file(&root, path, NULL), STATUS_OK);
        damage_object(root, root, NAMES[i]);
        json_decref(root);
    }
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    FileMap map;
    scratch_path(path, "tests/configs", "gpt-oss-20b.json");
    assert_int_equal(file_map(&map, path, NULL), STATUS_OK);
    assert_true(map.size > 100);
    for (size_t size = 0; size + 2 < map.size; size++) {
        HfConfig config;
        assert_int_equal(
            hf_config_read_text(&config, (const char *)map.data, size, "c.json", NULL),
            STATUS_INPUT);
    }
    file_unmap(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_models_have_their_kind_sizes_and_bytes),
        cmocka_unit_test(mha_equivalents_are_what_they_are),
        cmocka_unit_test(long_texts_take_the_published_amounts),
        cmocka_unit_test(windows_bound_the_layers_that_have_them),
        cmocka_unit_test(eight_kv_heads_on_sixteen_cards_are_copied),
        cmocka_unit_test(weights_are_counted_to_the_last_one),
        cmocka_unit_test(mixtures_meet_the_published_share),
        cmocka_unit_test(own_checkpoints_are_read),
        cmocka_unit_test(one_model_in_many_spellings),
        cmocka_unit_test(every_way_to_say_which_layers),
        cmocka_unit_test(layers_with_windows_may_have_other_heads),
        cmocka_unit_test(the_head_is_tied_where_a_file_says_so),
        cmocka_unit_test(the_type_of_numbers_is_read_where_it_stands),
        cmocka_unit_test(what_a_file_leaves_open_is_noted),
        cmocka_unit_test(guesses_are_refused),
        cmocka_unit_test(any_field_with_any_value_is_counted_or_refused),
        cmocka_unit_test(cut_files_are_refused),
    };
    return cmocka_run_group_tests_name("Hugging Face configs", tests, NULL, NULL);
}
