// A plug-in as any other, which uses the malloc that its loader finds for it.
#include <stdlib.h>
#include <string.h>

void* plugin_malloc(size_t size) { return malloc(size); }
void* plugin_aligned(size_t size) { return aligned_alloc(64, size); }
void* plugin_realloc(void* block, size_t size) { return realloc(block, size); }
void plugin_free(void* block) { free(block); }
char* plugin_strdup(const char* text) { return strdup(text); }
