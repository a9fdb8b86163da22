// When free memory that has been written to goes back to the system: by amount, so that the frees themselves see to it
// and a process that goes idle has given its memory back already. Decisions only; an arena has one, guarded by its
// lock.
//
// `slack` is the memory that a purge now could give back: dirty free units, and free slots that were live at the last
// purge. A purge is due when it exceeds a share of what is in use, and a floor. Traffic that takes back within a second
// what was just purged doubles the bound, up to a limit; each second without that halves it again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arenite {

class PurgeRule {
 public:
  // `floor`: no purge is due below; `percent`: of the bytes in use.
  struct Bound {
    std::size_t floor;
    std::size_t percent;
  };

  void note_taken(std::size_t bytes) {
    in_use_ += bytes;
    if (in_use_ > peak_) peak_ = in_use_;
  }
  void note_given(std::size_t bytes) { in_use_ -= bytes < in_use_ ? bytes : in_use_; }

  void add_slack(std::size_t bytes) { slack_ += bytes; }
  void remove_slack(std::size_t bytes) { slack_ -= bytes < slack_ ? bytes : slack_; }

  bool is_due(Bound bound) const {
    // Without the factor first: it is never below 1, and this is all that most calls come to.
    return slack_ > bound.floor && slack_ > limit(bound);
  }

  // A purge is being made at `now` (microseconds).
  void note_purge(std::uint64_t now) {
    const std::uint64_t since = now - purged_at_;
    const bool regretted = since < kRegretMicroseconds && peak_ - in_use_at_purge_ > purged_ / 2 && purged_ != 0;
    if (regretted) {
      if (factor_ < kMaxFactor) factor_ *= 2;
    } else {
      for (std::uint64_t second = 0; second < since / kRegretMicroseconds && factor_ > 1; ++second) factor_ /= 2;
    }
    purged_ = slack_;
    slack_ = 0;
    in_use_at_purge_ = in_use_;
    peak_ = in_use_;
    purged_at_ = now;
  }

  // What may stay: slack above this makes a purge due.
  std::size_t limit(Bound bound) const {
    const std::size_t share = in_use_ / 100 * bound.percent;
    return (share > bound.floor ? share : bound.floor) * factor_;
  }

  std::size_t in_use() const { return in_use_; }
  std::size_t slack() const { return slack_; }

 private:
  static constexpr std::uint64_t kRegretMicroseconds = 1'000'000;
  static constexpr std::size_t kMaxFactor = 64;

  std::size_t in_use_ = 0;  // bytes of slots and runs that are out of their heaps
  std::size_t slack_ = 0;
  std::size_t factor_ = 1;
  // Of the last purge: how much, when, what was in use then, and the most since.
  std::size_t purged_ = 0;
  std::size_t in_use_at_purge_ = 0;
  std::size_t peak_ = 0;
  std::uint64_t purged_at_ = 0;
};

}  // namespace arenite
