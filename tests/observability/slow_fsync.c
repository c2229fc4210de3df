/* Lets syncs of store files take 1.5 s while the file $SLOW_SYNC_WHILE exists, as a worn-out disk does. Preloaded by
   tests/observability. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int sync_slowly(const char *name, int fd) {
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    const char *trigger = getenv("SLOW_SYNC_WHILE");
    char link[64], path[4096];
    ssize_t size;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    if (trigger != NULL && access(trigger, F_OK) == 0 && size > 0) {
        path[size] = '\0';
        if (strstr(path, "/store.db") != NULL)
            usleep(1500000);
    }
    return original(fd);
}

int fsync(int fd) { return sync_slowly("fsync", fd); }

int fdatasync(int fd) { return sync_slowly("fdatasync", fd); }
