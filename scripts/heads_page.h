/* The parts of the page of jueju heads --html, as they are in scripts/heads_page*: the
 * Makefile turns the files into these arrays, each with a NUL at its end. */
#ifndef JUEJU_SCRIPTS_HEADS_PAGE_H
#define JUEJU_SCRIPTS_HEADS_PAGE_H

extern const char HEADS_PAGE_HTML[], HEADS_PAGE_CSS[];
extern const char HEADS_PAGE_MAPS_JS[], HEADS_PAGE_JS[]; /* one script */

#endif
