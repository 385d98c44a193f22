/* Checkpoints as Hugging Face's classes save them, with the logits that these compute: made
 * by tests/interop/golden_models.py, which shares no code with the model. */
#include "model/base/files.h"
#include "model/base/safetensors.h"
#include "model/gpt/weights.h"
#include "model/math/blas.h"
#include "tests/model/small_model.h"

enum { TOKENS = 12, V = 11 };

static const char *const MODELS[] = {"llama", "llama-biases", "mistral", "deepseek",
                                     "deepseek-no-query-latent"};

static void find_logits(real found[TOKENS * V], const Gpt *gpt, const int32_t *ids)
{
    int32_t targets[TOKENS], places[TOKENS];
    const int64_t starts[] = {0, TOKENS};
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
    GptWork *work = work_for(gpt, TOKENS);
    gpt_logits(gpt, work, &batch, found);
    gpt_work_destroy(work);
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

    int32_t ids[TOKENS];
    real found[TOKENS * V], wanted[TOKENS * V];
    const int64_t shape[] = {TOKENS, V};
    const Tensor *tensor = safetensors_find(&expected, "ids");
    assert_non_null(tensor);
    assert_true(tensor->dtype == DTYPE_I32 && tensor->rank == 1 &&
                tensor->shape[0] == TOKENS);
    memcpy(ids, tensor->data, sizeof ids);
    assert_int_equal(safetensors_expect_real(&expected, "logits", 2, shape, &err),
                     STATUS_OK);
    assert_int_equal(
        safetensors_read_real(wanted, &expected, "logits", 2, shape, true, &err),
        STATUS_OK);
    find_logits(found, &gpt, ids);
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
