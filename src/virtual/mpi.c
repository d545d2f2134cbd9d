/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI's start and end, in which its processes wait for each other by their launcher, outside of the
 * world; and its clock. Fortran's calls come by the names with a P. Nothing of MPI is needed to
 * build this: its calls are declared here as far as they are passed on.
 */
#include "virtual/inside.h"

/* MPI's own names, in C. */
int MPI_Init(int *argc, char ***argv);
int PMPI_Init(int *argc, char ***argv);
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *got);
int PMPI_Init_thread(int *argc, char ***argv, int wanted, int *got);
int MPI_Finalize(void);
int PMPI_Finalize(void);
double MPI_Wtime(void);
double PMPI_Wtime(void);
double MPI_Wtick(void);
double PMPI_Wtick(void);

/* ---- Start and end --------------------------------------------------------------------------- */

/* Outside of the world from beginning to end. */
#define OUTSIDE(name, ...)                                                                         \
    ({                                                                                             \
        virtual_outside_begin();                                                                   \
        int result = NEXT(name)(__VA_ARGS__);                                                      \
        virtual_outside_end();                                                                     \
        result;                                                                                    \
    })

SHOWN int MPI_Init(int *argc, char ***argv)
{
    return OUTSIDE(MPI_Init, argc, argv);
}

SHOWN int PMPI_Init(int *argc, char ***argv)
{
    return OUTSIDE(PMPI_Init, argc, argv);
}

SHOWN int MPI_Init_thread(int *argc, char ***argv, int wanted, int *got)
{
    return OUTSIDE(MPI_Init_thread, argc, argv, wanted, got);
}

SHOWN int PMPI_Init_thread(int *argc, char ***argv, int wanted, int *got)
{
    return OUTSIDE(PMPI_Init_thread, argc, argv, wanted, got);
}

SHOWN int MPI_Finalize(void)
{
    return OUTSIDE(MPI_Finalize);
}

SHOWN int PMPI_Finalize(void)
{
    return OUTSIDE(PMPI_Finalize);
}

/* ---- The clock ------------------------------------------------------------------------------- */

/* Seconds of the world. */
static double wtime(double (*next)(void))
{
    const struct virtual_time *time = virtual_time_for(NULL);
    int64_t now_ns = time ? virtual_now_ns(time) : -1;
    return now_ns < 0 ? next() : (double)now_ns * 1e-9;
}

SHOWN double MPI_Wtime(void)
{
    return wtime(NEXT(MPI_Wtime));
}

SHOWN double PMPI_Wtime(void)
{
    return wtime(NEXT(PMPI_Wtime));
}

SHOWN double MPI_Wtick(void)
{
    return virtual_time_for(NULL) ? 1e-9 : NEXT(MPI_Wtick)();
}

SHOWN double PMPI_Wtick(void)
{
    return virtual_time_for(NULL) ? 1e-9 : NEXT(PMPI_Wtick)();
}
