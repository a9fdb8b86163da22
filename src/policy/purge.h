// When free memory that has been written to goes back to the system: by amount, so that the frees themselves see to it
// and a process that goes idle has given its memory back already. Decisions only; an arena has one, guarded by its
// lock.
//
// `slack` is the memory that a purge now could give back: dirty free units, and free slots that were live at the last
// purge. A purge is due when it exceeds a floor, and a share of what is in use. Traffic that takes back within a second
// more than half of what was purged would make calls for nothing: twice that much slack is tolerated from then on, at
// most what the heaps have ever held at once since, and half of it after each second without such a regret.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arenite {

class PurgeRule {
 public:
  // `floor`: no purge is due below; `percent`: of the bytes in use. `tolerant`: more may be tolerated for a time.
  struct Bound {
    std::size_t floor;
    std::size_t percent;
    bool tolerant = true;
  };

  void note_taken(std::size_t bytes) { in_use_ += bytes; }
  void note_given(std::size_t bytes) { in_use_ -= bytes < in_use_ ? bytes : in_use_; }
  // Of what was taken, so much has no pages yet: never had any, or was purged.
  void note_fresh(std::size_t bytes) { fresh_ += bytes; }

  void add_slack(std::size_t bytes) { slack_ += bytes; }
  void remove_slack(std::size_t bytes) {
    slack_ -= bytes < slack_ ? bytes : slack_;
    if (slack_ < least_slack_) least_slack_ = slack_;
  }
  // The least slack since the last such call: so much has been free all the time.
  std::size_t take_least_slack() {
    const std::size_t least = least_slack_;
    least_slack_ = slack_;
    return least;
  }

  bool is_due(Bound bound) const {
    // The floor first: this is all that most calls come to.
    return slack_ > bound.floor && slack_ > limit(bound);
  }
  // Only what is tolerated for the time being keeps a purge from being due: tell the time now and then.
  bool is_tolerated(Bound bound) const { return slack_ > base(bound) && slack_ <= limit(bound); }
  void note_time(std::uint64_t now) {
    const std::uint64_t seconds = (now - calm_since_) / kSecond;
    if (seconds == 0) return;
    tolerated_ = seconds < 64 ? tolerated_ >> seconds : 0;
    calm_since_ = now;
    purged_ = 0;
    peak_ = 0;
  }

  // A purge is being made at `now` (microseconds).
  void note_purge(std::uint64_t now) {
    note_time(now);
    if (in_use_ + slack_ > peak_) peak_ = in_use_ + slack_;
    const std::size_t regretted = fresh_ < purged_ ? fresh_ : purged_;
    if (regretted > purged_ / 2) {
      const std::size_t wanted = tolerated_ > regretted ? 2 * tolerated_ : 2 * regretted;
      tolerated_ = wanted < peak_ ? wanted : peak_;
      calm_since_ = now;
      purged_ = 0;
    }
    if (purged_ == 0) fresh_ = 0;
    purged_ += slack_;
    slack_ = least_slack_ = 0;
  }

  // All has been given back that could be, for another reason than the amount.
  void note_trim() { slack_ = least_slack_ = purged_ = fresh_ = 0; }

  // What may stay: slack above this makes a purge due.
  std::size_t limit(Bound bound) const { return bound.tolerant && tolerated_ > base(bound) ? tolerated_ : base(bound); }

  std::size_t in_use() const { return in_use_; }
  std::size_t slack() const { return slack_; }

 private:
  static constexpr std::uint64_t kSecond = 1'000'000;

  std::size_t base(Bound bound) const {
    const std::size_t share = in_use_ / 100 * bound.percent;
    return share > bound.floor ? share : bound.floor;
  }

  std::size_t in_use_ = 0;  // bytes of slots and runs that are out of their heaps
  std::size_t slack_ = 0;
  std::size_t least_slack_ = 0;
  std::size_t tolerated_ = 0;
  // Of the purges since the last regret or calm second: how much went, and how much fresh memory was taken since.
  std::size_t purged_ = 0;
  std::size_t fresh_ = 0;
  std::size_t peak_ = 0;  // the most in use and slack together, at the purges since the last calm second
  std::uint64_t calm_since_ = 0;
};

}  // namespace arenite
