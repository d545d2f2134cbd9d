#include "msg/msg.h"
#include <stdlib.h>
int rh_msg_open(struct rh_msg **msg, struct rh_job *job)
{
    struct rh_msg *m = calloc(1, sizeof *m);
    m->job = job;
    int r = locks_open(m);
    if (!r)
        r = sets_open(m);
    *msg = m;
    return r;
}
int rh_msg_close(struct rh_msg *msg)
{
    sets_close(msg);
    locks_close(msg);
    free(msg);
    return 0;
}
