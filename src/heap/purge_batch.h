// Free memory on its way back to the system, some pieces at a time. What is in a batch is held, as if somebody had
// taken it, so that the system can be called without the arena's lock:
//
//   with the lock   Heap::hold_units(), Heap::hold_top(), hold_slots()     pieces come in; nobody can take them
//   without it      call()                                                the system is asked for each piece
//   with the lock   Heap::note_purged(), end_slots(); Heap::end_hold()     pieces, then runs, are free again
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/units.h"
#include "os/overcommit.h"

namespace arenite {

class Heap;

// Whole pages of free memory.
struct PurgePiece {
  enum class Kind : std::uint8_t { kUnits, kMap, kSlots };

  Kind kind = Kind::kUnits;
  bool replace = false;  // whatever the way: advice may not set the pages aside again
  bool gone = false;     // the system has taken the pages
  Heap* heap = nullptr;
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
  // Of kSlots: the span, the held slots, which start at a granule, and how many untouched ones are held behind them.
  UnitIndex span{};
  std::uint32_t first_granule = 0;
  std::uint16_t slots = 0;
  std::uint16_t uncarved = 0;
};

// A free run, or the lower part of a free top.
struct HeldRun {
  Heap* heap = nullptr;
  UnitRange range;
};

// A piece of a span is at least a page and a live slot away from the next one.
inline constexpr std::size_t kMostPiecesOfSpan = 16;

class PurgeBatch {
 public:
  // Room for `pieces` more, and for a run.
  bool has_room(std::size_t pieces = 2) const { return piece_count_ + pieces <= kMostPieces; }
  bool empty() const { return piece_count_ == 0; }

  void add(const PurgePiece& piece) { pieces_[piece_count_++] = piece; }
  void add(const HeldRun& run) { runs_[run_count_++] = run; }

  void call(os::PurgeWay way) {
    for_each_piece([way](PurgePiece& piece) {
      piece.gone = os::purge_pages(pointer_at(piece.start), piece.bytes, piece.replace ? os::PurgeWay::kReplace : way);
    });
  }

  template <typename Action>
  void for_each_piece(Action action) {
    for (std::size_t index = 0; index < piece_count_; ++index) action(pieces_[index]);
  }
  template <typename Action>
  void for_each_run(Action action) {
    for (std::size_t index = 0; index < run_count_; ++index) action(runs_[index]);
  }

  void clear() { piece_count_ = run_count_ = 0; }

 private:
  static constexpr std::size_t kMostPieces = 48;

  std::size_t piece_count_ = 0;
  std::size_t run_count_ = 0;
  PurgePiece pieces_[kMostPieces];
  HeldRun runs_[kMostPieces];  // each has brought a piece
};

}  // namespace arenite
