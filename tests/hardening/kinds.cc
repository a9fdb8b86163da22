// Blocks given back by a call of another kind than the one they are from, or with a wrong size.
#include <new>

#include "cell.h"

// Not every compiler declares this one by itself.
void operator delete(void*, size_t) noexcept;

// The neighbours are from malloc; a block of another kind comes after them.
static void* given_up(void* block) { return forget(keep(block, cell_size)); }

static void malloc_delete() {
  void* const block = given_up(malloc(cell_size));
  say("call");
  operator delete(block);
  say("called");
}

static void new_free() { wrong_free(given_up(operator new(cell_size))); }

static void new_array_delete() {
  void* const block = given_up(operator new[](cell_size));
  say("call");
  operator delete(block);
  say("called");
}

static void delete_sized(size_t size) {
  void* const block = given_up(operator new(cell_size));
  say("call");
  operator delete(block, hide_size(size));
  say("called");
}

static void delete_double_size() { delete_sized(2 * cell_size); }
static void delete_size_less_one() { delete_sized(cell_size - 1); }

static const Form forms[] = {
    {"malloc_delete", malloc_delete, 1},
    {"new_free", new_free, 1},
    {"new_array_delete", new_array_delete, 1},
    {"delete_double_size", delete_double_size, 1},
    {"delete_size_less_one", delete_size_less_one, 1},
};

int main(int count, char** arguments) { return cell_main(count, arguments, forms, sizeof forms / sizeof *forms); }
