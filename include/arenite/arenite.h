/* arenite's own functions, beside the malloc family. For C and C++.
 *
 * All are safe to call from any thread at any time, and do not change errno. */
#ifndef ARENITE_ARENITE_H
#define ARENITE_ARENITE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version as "MAJOR.MINOR.PATCH". The string lives as long as the library. A program can declare this function weak
 * and compare its address with null to see whether arenite serves its memory. */
const char* arenite_version(void);

/* Writes a line "name=value  what it does" for each option in force to file descriptor `fd`, in alphabetical order.
 * Sizes are in bytes. Errors of writing are ignored. */
void arenite_print_options(int fd);

#ifdef __cplusplus
}
#endif

#endif
