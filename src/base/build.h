// What a build is made with, as constants: every branch compiles in every build.
#pragma once

#ifndef ARENITE_DEBUG
#define ARENITE_DEBUG 0
#endif

namespace arenite {

struct BuildConfig {
  bool debug;  // invariants run after each step, lock ranks are checked
};

inline constexpr BuildConfig kBuild{.debug = ARENITE_DEBUG != 0};

inline constexpr char kVersion[] = "0.1.0";

}  // namespace arenite
