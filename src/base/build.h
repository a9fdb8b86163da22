// What a build is made with, as constants: every branch compiles in every build.
#pragma once

#ifndef ARENITE_DEBUG
#define ARENITE_DEBUG 0
#endif

namespace arenite {

#ifdef __has_feature
#define ARENITE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define ARENITE_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_THREAD__) || ARENITE_HAS_FEATURE(thread_sanitizer)
#define ARENITE_THREAD_SANITIZER 1
#else
#define ARENITE_THREAD_SANITIZER 0
#endif

struct BuildConfig {
  bool debug;             // invariants run after each step, lock ranks are checked
  bool thread_sanitizer;  // every access to shared words is an atomic one
};

inline constexpr BuildConfig kBuild{.debug = ARENITE_DEBUG != 0, .thread_sanitizer = ARENITE_THREAD_SANITIZER != 0};

inline constexpr char kVersion[] = "0.1.0";

}  // namespace arenite
