// Purges of one heap from the first step to the last, as an arena makes them, for tests. Each returns the bytes that
// the system took.
#pragma once

#include <gtest/gtest.h>

#include "heap/heap.h"

namespace arenite {

inline std::size_t finish_purge(PurgeBatch& batch, os::PurgeWay way) {
  std::size_t bytes = 0;
  batch.call(way);
  batch.for_each_piece([&](const PurgePiece& piece) {
    if (piece.gone) bytes += piece.bytes;
    if (piece.kind == PurgePiece::Kind::kSlots) end_slots(piece);
    if (piece.kind == PurgePiece::Kind::kUnits && piece.gone) {
      piece.heap->note_purged({.first = piece.heap->unit_of(pointer_at(piece.start)), .count = units_for(piece.bytes)});
    }
  });
  batch.for_each_run([](const HeldRun& run) { run.heap->end_hold(run.range); });
  batch.clear();
  return bytes;
}

inline std::size_t purge_free_units(Heap& heap, std::size_t least, os::PurgeWay way = os::PurgeWay::kAdvise) {
  PurgeBatch batch;
  std::size_t left = 0;
  std::size_t bytes = 0;
  for (UnitIndex from = first_unit_of(heap.kind()); from < kHeapEnd;) {
    from = heap.hold_units(from, least, &batch, &left);
    bytes += finish_purge(batch, way);
  }
  return bytes;
}

inline std::size_t trim_top(Heap& heap, const TrimRule& rule, os::PurgeWay way) {
  if (way == os::PurgeWay::kReplace) return heap.decommit_top(rule);
  const std::size_t trimmable = heap.trimmable_top(rule);
  if (trimmable == 0) return 0;
  PurgeBatch batch;
  std::size_t left = 0;
  std::size_t bytes = 0;
  for (UnitIndex from = heap.grown() - units_for(trimmable); from < kHeapEnd;) {
    from = heap.hold_top(from, 1, &batch, &left);
    bytes += finish_purge(batch, way);
  }
  heap.lower_grown(rule);
  return bytes;
}

inline std::size_t purge_span(Heap& heap, UnitIndex span, os::PurgeWay way) {
  PurgeBatch batch;
  EXPECT_TRUE(hold_slots(heap, span, &batch));
  return finish_purge(batch, way);
}

}  // namespace arenite
