#include "scripts/interrupt.h"

#include <signal.h>
#include <stddef.h>

/* The one thing that a signal handler may write. */
static volatile sig_atomic_t requested;

static void handle(int number)
{
    (void)number;
    requested = 1;
}

void interrupt_install(void)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGUSR1};
    struct sigaction action = {.sa_handler = handle, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) {
        struct sigaction old;
        if (sigaction(SIGNALS[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(SIGNALS[i], &action, NULL);
    }
}

bool interrupt_requested(void)
{
    return requested != 0;
}
