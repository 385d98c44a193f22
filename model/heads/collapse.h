/* Collapse of a layer: heads growing alike, rows turning one-hot, tokens turning alike.
 *
 * Of H heads with maps p_h and outputs z_h (tokens, D), over all tokens of all texts:
 *   distance_gh = mean over rows of the Jensen-Shannon distance (model/heads/similarity.h)
 *   cosine_gh   = mean over tokens of z_g . z_h / (|z_g| |z_h|)      (Li et al. 2018,
 *                 arXiv:1810.10183, "disagreement on outputs" with the sign turned)
 *   cka_gh      = |Z_g^T Z_h|_F^2 / (|Z_g^T Z_g|_F |Z_h^T Z_h|_F), columns centred: linear
 *                 CKA (Kornblith et al. 2019, arXiv:1905.00414). It is 1 when one output is
 *                 the other turned, and falls to 0 when neither tells of the other.
 *   effective heads = effective number (model/heads/subspace.h) of the matrix cka:  1 ... H
 *   effective maps  = that of the matrix kernel (model/heads/similarity.h):         1 ... H
 * cka and kernel are inner products of unit vectors, so both matrices are positive
 * semidefinite with ones on the diagonal, as the effective number wants.
 *
 * Of the residual stream X (n, C) behind the layer, for each text of two tokens or more:
 *   residual    = |X - 1 m^T|_F / |X|_F,  m = mean of X's rows;  mean over the texts
 * the part that is not the same for every token. It goes to 0 when attention averages all
 * tokens away: rank collapse (Dong et al. 2021, arXiv:2103.03404, with the Frobenius norm in
 * place of their sqrt(|.|_1 |.|_inf)). Weight falls on m^T, a matrix of rank 1.
 *
 * Signs, each with its thresholds; the verdict names all that are there, or "healthy":
 *   all heads alike   effective heads < 1 + 0.1 (H-1), H >= 2
 *   heads alike       a pair with distance < 0.1 and cka > 0.9
 *   entropy collapse  mean entropy < 0.05, or over 0.9 of the rows saturated
 *                     (Zhai et al. 2023, arXiv:2303.06296)
 *   rank collapse     residual < 0.1: 99% of the energy is the same for every token */
#ifndef JUEJU_MODEL_HEADS_COLLAPSE_H
#define JUEJU_MODEL_HEADS_COLLAPSE_H

#include <stdint.h>

#include "model/base/error.h"
#include "model/base/real.h"

/* What is summed over texts, of one layer. */
typedef struct {
    int64_t heads, size; /* H, D */
    double *gram;        /* (HD, HD) sum of z z^T, lower half; owned, with all below */
    double *sums;        /* (HD) sum of z */
    double *cosines;     /* (H, H) sums over tokens, g < h at [h H + g] */
    double *distances;   /* (H, H) sums over rows, the same */
    double *kernels;     /* (H, H) likewise */
    int64_t tokens, rows;
    double residual; /* sum over texts */
    int64_t texts;
} CollapseSums;

Status collapse_create(CollapseSums *sums, int64_t heads, int64_t size, Error *err);
void collapse_destroy(CollapseSums *sums);

/* One text: maps (H, n, n), outputs (H, n, D), the stream (n, C) behind the layer. */
void collapse_add(CollapseSums *sums, const real *maps, const real *outputs,
                  const real *stream, int64_t n, int64_t C);

/* |X - 1 m^T|_F / |X|_F; 0 for X = 0. */
double rank_residual(const real *x, int64_t n, int64_t C);

enum {
    SIGN_ALL_ALIKE = 1,
    SIGN_ALIKE = 2,
    SIGN_ENTROPY = 4,
    SIGN_RANK = 8,
};

#define ALL_ALIKE_SHARE 0.1
#define ALIKE_DISTANCE 0.1
#define ALIKE_CKA 0.9
#define ENTROPY_LEAST 0.05
#define SATURATION_MOST 0.9
#define RESIDUAL_LEAST 0.1

typedef struct {
    int64_t heads;
    double *distance, *cosine, *cka, *kernel; /* (H, H) symmetric, owned as one */
    double effective_heads, effective_maps;
    double min_pair_distance; /* 1 with a single head */
    int64_t closest[2];       /* the pair that has it; -1 with a single head */
    double residual;          /* 1 when no text had two tokens */
} CollapseFigures;

Status collapse_finish(CollapseFigures *figures, const CollapseSums *sums, Error *err);
void collapse_figures_free(CollapseFigures *figures);

/* The SIGN_ bits; entropy and saturation are the layer's means. */
unsigned collapse_signs(const CollapseFigures *figures, double entropy,
                        double saturation);

/* "healthy", or "heads alike, rank collapse". */
enum { VERDICT_SIZE = 80 };
void collapse_verdict(char verdict[VERDICT_SIZE], unsigned signs);

#endif
