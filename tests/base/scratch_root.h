/* The scratch folder that a test program makes before a test and removes behind it: give
 * make_scratch and remove_scratch to cmocka as set-up and tear-down. */
#ifndef JUEJU_TESTS_BASE_SCRATCH_ROOT_H
#define JUEJU_TESTS_BASE_SCRATCH_ROOT_H

#include "tests/base/scratch.h"

static char root[PATH_SIZE];

static int make_scratch(void **state)
{
    (void)state;
    scratch_create(root);
    return 0;
}

static int remove_scratch(void **state)
{
    (void)state;
    scratch_remove(root);
    return 0;
}

#endif
