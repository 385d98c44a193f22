/* Plain text files: blocks between blank lines are poems; or one running text.
 *
 * A text that is mainly Han is cleaned like the collections; if a block's first line has
 * no mark and all its other lines end in one, it is the title. Any other script is kept as
 * it is (NFC, spaces and line ends too). Line ends CR LF and CR count as LF. */
#ifndef JUEJU_DATA_PLAINTEXT_H
#define JUEJU_DATA_PLAINTEXT_H

#include "data/document.h"
#include "data/schema.h"
#include "model/base/error.h"

/* Invalid UTF-8 (lenient documents only) drops its block and is counted. With `stream`
 * the whole text is one poem, kept as it is. */
Status plaintext_read(WorkReader *reader, const Document *document, bool stream,
                      Error *err);

#endif
