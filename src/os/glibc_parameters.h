// The numbers of mallopt's parameters: M_ARENA_MAX and so on, as glibc defines them.
#pragma once

#include <malloc.h>
