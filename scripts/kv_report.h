/* What `jueju kv` knows of one config.json, and the ways in which it prints that. */
#ifndef JUEJU_SCRIPTS_KV_REPORT_H
#define JUEJU_SCRIPTS_KV_REPORT_H

#include <jansson.h>

#include "model/base/files.h"
#include "model/gpt/hf_config.h"

/* A type of number, and what said so: "bfloat16" by "torch_dtype". */
typedef struct {
    char name[HF_NAME_SIZE];
    char from[HF_NAME_SIZE];
    int64_t bits;
} KvType;

typedef struct {
    char path[PATH_SIZE];
    HfConfig config;
    MemoryUse use;
    MemoryCache cache;
    KvType cache_type, weight_type;
    bool counted; /* parameters and weight_bytes are known */
    MemoryParameters parameters;
    int64_t weight_bytes;
} KvReport;

/* Several lines for people. */
void kv_report_print(const KvReport *report);

/* A table, a line a report. */
void kv_report_table(const KvReport *const *reports, int count);

/* One object on one line. */
Status kv_report_json(const KvReport *report, Error *err);

#endif
