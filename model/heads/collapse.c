#include "model/heads/collapse.h"

#include <math.h>
#include <string.h>

#include "model/base/memory.h"
#include "model/heads/similarity.h"
#include "model/heads/subspace.h"

Status collapse_create(CollapseSums *sums, int64_t heads, int64_t size, Error *err)
{
    int64_t HD = heads * size;
    int64_t pairs = heads * heads;
    *sums = (CollapseSums){.heads = heads, .size = size};
    TRY(memory_allocate(&sums->gram, (size_t)(HD * HD + HD + 3 * pairs),
                        sizeof *sums->gram, "the heads' outputs", err));
    sums->sums = sums->gram + HD * HD;
    sums->cosines = sums->sums + HD;
    sums->distances = sums->cosines + pairs;
    sums->kernels = sums->distances + pairs;
    return STATUS_OK;
}

void collapse_destroy(CollapseSums *sums)
{
    memory_free(sums->gram);
    *sums = (CollapseSums){0};
}

/* ---- one text ------------------------------------------------------------------------ */

static double dot(const real *a, const real *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* A share of 0/0: two vectors that are both zero are alike, one that is and one that is
 * not have nothing in common. */
static double alike(double product, double a, double b)
{
    if (a > 0 && b > 0)
        return product / (sqrt(a) * sqrt(b));
    return isnan(a + b) ? NAN : (double)(a == b);
}

static void add_cosines(CollapseSums *sums, const real *outputs, int64_t n)
{
    int64_t H = sums->heads;
    int64_t D = sums->size;
    for (int64_t h = 0; h < H; h++) {
        for (int64_t g = 0; g < h; g++) {
            const real *a = outputs + h * n * D;
            const real *b = outputs + g * n * D;
            for (int64_t i = 0; i < n; i++, a += D, b += D)
                sums->cosines[h * H + g] +=
                    alike(dot(a, b, D), dot(a, a, D), dot(b, b, D));
        }
    }
}

/* Token i's outputs of all heads, side by side, are one vector of H D numbers. */
static void add_gram(CollapseSums *sums, const real *outputs, int64_t n)
{
    int64_t D = sums->size;
    int64_t HD = sums->heads * D;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t a = 0; a < HD; a++) {
            double za = (double)outputs[(a / D) * n * D + i * D + a % D];
            double *row = sums->gram + a * HD;
            sums->sums[a] += za;
            for (int64_t g = 0; g <= a / D; g++) {
                const real *z = outputs + g * n * D + i * D;
                for (int64_t d = 0; d < D; d++)
                    row[g * D + d] += za * (double)z[d];
            }
        }
    }
}

double rank_residual(const real *x, int64_t n, int64_t C)
{
    double total = 0, shared = 0;
    for (int64_t c = 0; c < C; c++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            double value = (double)x[i * C + c];
            sum += value;
            total += value * value;
        }
        shared += sum * sum / (double)n;
    }
    /* |X|^2 = |X - 1 m^T|^2 + n |m|^2 */
    double rest = total - shared;
    if (total == 0 || rest < 0)
        return 0;
    return sqrt(rest / total);
}

void collapse_add(CollapseSums *sums, const real *maps, const real *outputs,
                  const real *stream, int64_t n, int64_t C)
{
    int64_t H = sums->heads;
    int64_t unused = 0;
    add_gram(sums, outputs, n);
    add_cosines(sums, outputs, n);
    for (int64_t h = 0; h < H; h++) {
        for (int64_t g = 0; g < h; g++) {
            const real *a = maps + h * n * n;
            const real *b = maps + g * n * n;
            sums->distances[h * H + g] += distance_sum(a, b, n, &unused);
            sums->kernels[h * H + g] += kernel_sum(a, b, n, &unused);
        }
    }
    sums->tokens += n;
    sums->rows += n - 1;
    if (n > 1) {
        sums->residual += rank_residual(stream, n, C);
        sums->texts++;
    }
}

/* ---- all texts ----------------------------------------------------------------------- */

/* |Z_g^T Z_h|_F^2 of centred outputs, g <= h: from sum z z^T - (sum z)(sum z)^T / N. */
static double centred_square(const CollapseSums *sums, int64_t g, int64_t h)
{
    int64_t D = sums->size;
    int64_t HD = sums->heads * D;
    double square = 0;
    for (int64_t a = h * D; a < (h + 1) * D; a++) {
        for (int64_t b = g * D; b < (g + 1) * D; b++) {
            double raw = sums->gram[a * HD + b];
            double centred = raw - sums->sums[a] * sums->sums[b] / (double)sums->tokens;
            /* What is left of equal numbers is rounding. */
            double scale = sqrt(sums->gram[a * HD + a]) * sqrt(sums->gram[b * HD + b]);
            if (!(fabs(centred) <= 1e-12 * scale))
                square += centred * centred;
        }
    }
    return square;
}

static void set_pair(double *matrix, int64_t H, int64_t g, int64_t h, double value)
{
    matrix[h * H + g] = value;
    matrix[g * H + h] = value;
}

static void fill_pair(CollapseFigures *figures, const CollapseSums *sums, int64_t g,
                      int64_t h)
{
    int64_t H = sums->heads;
    bool rows = sums->rows > 0;
    double distance = rows ? sums->distances[h * H + g] / (double)sums->rows : 1;
    double kernel = rows ? sums->kernels[h * H + g] / (double)sums->rows : 0;
    set_pair(figures->distance, H, g, h, distance);
    set_pair(figures->kernel, H, g, h, kernel);
    set_pair(figures->cosine, H, g, h, sums->cosines[h * H + g] / (double)sums->tokens);
    set_pair(figures->cka, H, g, h,
             alike(centred_square(sums, g, h), centred_square(sums, g, g),
                   centred_square(sums, h, h)));
    if (figures->closest[0] < 0 || distance < figures->min_pair_distance ||
        isnan(distance)) {
        figures->min_pair_distance = distance;
        figures->closest[0] = g;
        figures->closest[1] = h;
    }
}

Status collapse_finish(CollapseFigures *figures, const CollapseSums *sums, Error *err)
{
    int64_t H = sums->heads;
    int64_t pairs = H * H;
    *figures = (CollapseFigures){
        .heads = H, .min_pair_distance = 1, .closest = {-1, -1}, .residual = 1};
    TRY(memory_allocate(&figures->distance, (size_t)(4 * pairs),
                        sizeof *figures->distance, "the heads' pairs", err));
    figures->cosine = figures->distance + pairs;
    figures->cka = figures->cosine + pairs;
    figures->kernel = figures->cka + pairs;
    for (int64_t h = 0; h < H; h++) {
        figures->cosine[h * H + h] = 1;
        figures->cka[h * H + h] = 1;
        figures->kernel[h * H + h] = 1;
        for (int64_t g = 0; g < h && sums->tokens > 0; g++)
            fill_pair(figures, sums, g, h);
    }
    if (sums->texts > 0)
        figures->residual = sums->residual / (double)sums->texts;
    Status status = effective_number(&figures->effective_heads, figures->cka, H, err);
    if (status == STATUS_OK)
        status = effective_number(&figures->effective_maps, figures->kernel, H, err);
    if (status != STATUS_OK)
        collapse_figures_free(figures);
    return status;
}

void collapse_figures_free(CollapseFigures *figures)
{
    memory_free(figures->distance);
    *figures = (CollapseFigures){0};
}

/* ---- the verdict --------------------------------------------------------------------- */

unsigned collapse_signs(const CollapseFigures *figures, double entropy,
                        double saturation)
{
    int64_t H = figures->heads;
    unsigned signs = 0;
    if (H >= 2 && figures->effective_heads < 1 + ALL_ALIKE_SHARE * (double)(H - 1))
        signs |= SIGN_ALL_ALIKE;
    for (int64_t h = 0; h < H && !(signs & SIGN_ALL_ALIKE); h++) {
        for (int64_t g = 0; g < h; g++) {
            if (figures->distance[h * H + g] < ALIKE_DISTANCE &&
                figures->cka[h * H + g] > ALIKE_CKA)
                signs |= SIGN_ALIKE;
        }
    }
    if (entropy < ENTROPY_LEAST || saturation > SATURATION_MOST)
        signs |= SIGN_ENTROPY;
    if (figures->residual < RESIDUAL_LEAST)
        signs |= SIGN_RANK;
    return signs;
}

void collapse_verdict(char verdict[VERDICT_SIZE], unsigned signs)
{
    static const struct {
        unsigned sign;
        const char *name;
    } NAMES[] = {{SIGN_ALL_ALIKE, "all heads alike"},
                 {SIGN_ALIKE, "heads alike"},
                 {SIGN_ENTROPY, "entropy collapse"},
                 {SIGN_RANK, "rank collapse"}};
    verdict[0] = '\0';
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (!(signs & NAMES[i].sign))
            continue;
        if (verdict[0] != '\0')
            strcat(verdict, ", ");
        strcat(verdict, NAMES[i].name);
    }
    if (signs == 0)
        strcpy(verdict, "healthy");
}
