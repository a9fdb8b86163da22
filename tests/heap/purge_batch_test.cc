#include "heap/purge_batch.h"

#include <gtest/gtest.h>

#include "fake/memory.h"
#include "fake/process.h"
#include "os/memory.h"

namespace arenite {
namespace {

class PurgeBatchTest : public ::testing::Test {
 protected:
  ~PurgeBatchTest() override { fake::forget_everything(nullptr); }

  void add(std::uintptr_t start, std::size_t bytes) { batch_.add(PurgePiece{.start = start, .bytes = bytes}); }

  PurgeBatch batch_;
};

TEST_F(PurgeBatchTest, TellsWhichPiecesTheSystemHasTaken) {
  const std::uintptr_t start = address_of(os::map(64_KiB, 4_KiB));
  add(start, 4_KiB);
  add(start + 16_KiB, 8_KiB);
  add(start + 32_KiB, 4_KiB);
  fake::fail_call(fake::Call::kPurge, 2);
  batch_.call(os::PurgeWay::kAdvise);
  std::size_t gone = 0;
  batch_.for_each_piece([&](const PurgePiece& piece) {
    if (piece.gone) gone += piece.bytes;
  });
  EXPECT_EQ(gone, 8_KiB) << "the second was refused";
}

TEST_F(PurgeBatchTest, HasRoomUntilItIsFull) {
  EXPECT_TRUE(batch_.empty());
  EXPECT_TRUE(batch_.has_room(kMostPiecesOfSpan));
  std::size_t pieces = 0;
  for (; batch_.has_room(1); ++pieces) add(4_KiB, 4_KiB);
  EXPECT_GE(pieces, kMostPiecesOfSpan);
  batch_.clear();
  EXPECT_TRUE(batch_.empty());
  EXPECT_TRUE(batch_.has_room(pieces));
}

}  // namespace
}  // namespace arenite
