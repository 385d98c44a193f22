/* Checkpoints as Hugging Face's classes save them, with the logits that these compute: made
 * by tests/interop/golden_models.py and golden_pegasus.py, which share no code with the
 * model. */
#include "model/base/files.h"
#include "model/base/safetensors.h"
#include "model/gpt/weights.h"
#include "model/math/blas.h"
#include "tests/model/small_model.h"

enum { TOKENS = 12, SOURCE_TOKENS = 7, V = 11 };

static const char *const MODELS[] = {
    "llama",  "llama-biases", "mistral", "deepseek", "deepseek-no-query-latent",
    "pegasus"};

/* source_ids: NULL without an encoder. */
static void find_logits(real found[TOKENS * V], const Gpt *gpt, const int32_t *ids,
                        const int32_t *source_ids)
{
    int32_t targets[TOKENS], places[TOKENS];
    const int64_t starts[] = {0, TOKENS};
    const int64_t source_starts[] = {0, SOURCE_TOKENS};
    for (int32_t n = 0; n < TOKENS; n++) {
        targets[n] = TARGET_NONE;
        places[n] = n;
    }
    TokenBatch batch = {.tokens = TOKENS,
                        .segments = 1,
                        .ids = ids,
                        .targets = targets,
                        .positions = places,
                        .starts = starts};
    TokenBatch source = {.tokens = SOURCE_TOKENS,
                         .segments = 1,
                         .ids = source_ids,
                         .targets = targets,
                         .positions = places,
                         .starts = source_starts};
    if (source_ids != NULL)
        batch.source = &source;
    GptWork *work = work_for(gpt, TOKENS);
    gpt_logits(gpt, work, &batch, found);
    gpt_work_destroy(work);
}

static void read_ids(int32_t *ids, const SafeTensors *file, const char *name,
                     int64_t count)
{
    const Tensor *tensor = safetensors_find(file, name);
    assert_non_null(tensor);
    assert_true(tensor->dtype == DTYPE_I32 && tensor->rank == 1 &&
                tensor->shape[0] == count);
    memcpy(ids, tensor->data, (size_t)count * sizeof *ids);
}

static void assert_logits_of(const char *name)
{
    char folder[PATH_SIZE], path[PATH_SIZE];
    Error err = {.message = ""};
    Gpt gpt;
    ModelTokens tokens;
    SafeTensors expected;
    snprintf(folder, sizeof folder, "tests/model/golden/%s", name);
    if (weights_load(&gpt, &tokens, folder, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(gpt.config.vocab_size, V);
    assert_int_equal(path_join(path, folder, "expected.safetensors", &err), STATUS_OK);
    assert_int_equal(safetensors_open(&expected, path, &err), STATUS_OK);

    int32_t ids[TOKENS], source[SOURCE_TOKENS];
    bool encodes = gpt.config.encoder_layers > 0;
    real found[TOKENS * V], wanted[TOKENS * V];
    const int64_t shape[] = {TOKENS, V};
    read_ids(ids, &expected, "ids", TOKENS);
    if (encodes)
        read_ids(source, &expected, "source", SOURCE_TOKENS);
    assert_int_equal(safetensors_expect_real(&expected, "logits", 2, shape, &err),
                     STATUS_OK);
    assert_int_equal(
        safetensors_read_real(wanted, &expected, "logits", 2, shape, true, &err),
        STATUS_OK);
    find_logits(found, &gpt, ids, encodes ? source : NULL);
    for (int i = 0; i < TOKENS * V; i++)
        if (!numbers_agree((double)found[i], (double)wanted[i], 1e-5, 1e-5))
            fail_msg("%s: logit %d is %g, expected %g", name, i, (double)found[i],
                     (double)wanted[i]);
    safetensors_close(&expected);
    gpt_destroy(&gpt);
}

static void logits_are_those_of_the_other_implementation(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof MODELS / sizeof *MODELS; m++)
        assert_logits_of(MODELS[m]);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_the_other_implementation),
    };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
