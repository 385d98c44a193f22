/* The tensors of a model under llama.cpp's names, in its layouts: matrices (out, in), ours
 * are (in, out). "blk.N." stands before the names of layer N; .weight, and .bias where there
 * is one, behind them.
 *
 *   gpt2       token_embd position_embd (learned, a table of sinusoidal ones, or zeros)
 *              output_norm
 *              attn_norm attn_qkv attn_output ffn_norm ffn_up ffn_down
 *              each with a bias: zeros where the model has none
 *   llama      token_embd output_norm
 *              attn_norm attn_q attn_k attn_v attn_output ffn_norm ffn_gate ffn_up ffn_down
 *              the channels of a head of Q and K go from halves to pairs (layers/rope.h):
 *              row 2i of llama.cpp's is our channel i, row 2i+1 our channel i + D/2
 *   deepseek2  token_embd output_norm
 *              attn_norm attn_q_a attn_q_a_norm attn_q_b (Rq = 0: attn_q) attn_kv_a_mqa
 *              attn_kv_a_norm attn_k_b attn_v_b attn_output ffn_norm ffn_gate ffn_up
 *              ffn_down; with W_UKV's columns of head h being [K_h V_h]:
 *              attn_k_b (H, R, P) holds K_h (R, P), attn_v_b (H, E, R) holds V_h^T
 *   all        output, unless it is tied to token_embd */
#ifndef JUEJU_MODEL_GPT_GGUF_TENSORS_H
#define JUEJU_MODEL_GPT_GGUF_TENSORS_H

#include "model/gpt/gguf.h"
#include "model/gpt/gpt.h"

typedef enum { GGUF_GPT2, GGUF_LLAMA, GGUF_DEEPSEEK2 } GgufArchitecture;

/* Describes all tensors and starts the data, then writes their numbers. The metadata must
 * have been put. Matrices get dtype; vectors and positions are f32. */
Status gguf_tensors_write(GgufWriter *writer, const Gpt *gpt,
                          GgufArchitecture architecture, GgufDtype dtype, Error *err);

#endif
