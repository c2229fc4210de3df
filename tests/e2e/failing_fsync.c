/* Lets syncs of store files fail with EIO while the file $FAIL_SYNC_WHILE exists, as a broken disk does. Preloaded by
   tests/e2e/test_failing_disk.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_broken(int fd) {
    const char *trigger = getenv("FAIL_SYNC_WHILE");
    char link[64], path[4096];
    ssize_t size;
    if (trigger == NULL || access(trigger, F_OK) != 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    if (size < 0)
        return 0;
    path[size] = '\0';
    return strstr(path, "/store.db") != NULL;
}

static int sync_or_fail(const char *name, int fd) {
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    if (is_broken(fd)) {
        errno = EIO;
        return -1;
    }
    return original(fd);
}

int fsync(int fd) { return sync_or_fail("fsync", fd); }

int fdatasync(int fd) { return sync_or_fail("fdatasync", fd); }
