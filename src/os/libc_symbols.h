// What other libraries find when they look up malloc and its kin in libc. A plug-in that is loaded with RTLD_DEEPBIND
// looks in its own libraries first, libc among them, and would get libc's malloc and free beside arenite's, of which
// neither knows the other's blocks.
#pragma once

namespace arenite::os {

// Whether the mode that dlopen is given has RTLD_DEEPBIND.
bool binds_deep(int mode);

// From now on a look-up in libc gives what the rest of the process gets: the entries of libc's table of symbols are
// changed in memory, in pages of which the process then has its own copy; no code is. What has been looked up before
// stays as it is. May allocate, and takes the loader's lock. False if the system refuses, or libc cannot be read.
bool redirect_libc_malloc();

}  // namespace arenite::os
