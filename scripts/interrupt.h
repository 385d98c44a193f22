/* Ctrl-C, SIGTERM and SIGUSR1 (which mpirun and batch systems pass on) as a question that a
 * loop can ask: a command that has something to finish installs the handler, asks between two
 * pieces of work, and returns STATUS_INTERRUPTED when it has tidied up. A second signal of
 * the same kind ends the program at once. */
#ifndef JUEJU_SCRIPTS_INTERRUPT_H
#define JUEJU_SCRIPTS_INTERRUPT_H

#include <stdbool.h>

/* A signal that was ignored when the program began (nohup) stays ignored. */
void interrupt_install(void);

bool interrupt_requested(void);

#endif
