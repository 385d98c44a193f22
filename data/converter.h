/* OpenCC's C interface with its errors as ours. */
#ifndef JUEJU_DATA_CONVERTER_H
#define JUEJU_DATA_CONVERTER_H

#include <opencc/opencc.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/error.h"

/* config is "t2s.json" or "s2t.json". On failure *converter is NULL and the status
 * STATUS_IO. Not for several threads at once, as OpenCC's last error is one for all. */
Status converter_open(opencc_t *converter, const char *config, Error *err);
void converter_close(opencc_t converter); /* NULL is fine */

/* mapped[i] = image of points[i] alone, or points[i] when it is no Han character or its
 * image is more than one. May alias. */
Status converter_map(const char *config, uint32_t *mapped, const uint32_t *points,
                     size_t count, Error *err);

#endif
