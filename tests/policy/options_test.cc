#include "policy/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace arenite {
namespace {

using Index = OptionIndex;

std::string parsed(std::string_view text, bool allow_suffix = false) {
  std::size_t value = 4711;
  if (!parse_number(text, allow_suffix, &value)) return value == 4711 ? "refused" : "refused, but written";
  return std::to_string(value);
}

TEST(ParseNumber, DecimalOctalAndHexadecimal) {
  EXPECT_EQ(parsed("0"), "0");
  EXPECT_EQ(parsed("1"), "1");
  EXPECT_EQ(parsed("123456789"), "123456789");
  EXPECT_EQ(parsed("010"), "8");
  EXPECT_EQ(parsed("00"), "0");
  EXPECT_EQ(parsed("0x10"), "16");
  EXPECT_EQ(parsed("0XfF"), "255");
  EXPECT_EQ(parsed("0xABCDEF"), "11259375");
}

TEST(ParseNumber, BlanksAndAPlusMayStandBefore) {
  EXPECT_EQ(parsed(" 5"), "5");
  EXPECT_EQ(parsed("\t +5"), "5");
  EXPECT_EQ(parsed("+0x5"), "5");
  for (const char* const text : {"5 ", "+ 5", "++5", "- 5", "--5", "+-5", "\n5", "5\n"})
    EXPECT_EQ(parsed(text), "refused") << text;
}

TEST(ParseNumber, AnythingElseIsRefused) {
  for (const char* const text :
       {"", " ", "+", "x", "0x", "0xg", "08", "1a", "0b1", "1.5", "1,5", "1K", "K", "fF", "1x2", "0x-1"}) {
    EXPECT_EQ(parsed(text), "refused") << text;
  }
  EXPECT_EQ(parsed({"1\0", 2}), "refused");
}

TEST(ParseNumber, TheLargestFitsAndTheNextDoesNot) {
  EXPECT_EQ(parsed("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(parsed("18446744073709551616"), "refused");
  EXPECT_EQ(parsed("99999999999999999999999"), "refused");
  EXPECT_EQ(parsed("0xffffffffffffffff"), "18446744073709551615");
  EXPECT_EQ(parsed("0x10000000000000000"), "refused");
  EXPECT_EQ(parsed("01777777777777777777777"), "18446744073709551615");
  EXPECT_EQ(parsed("02000000000000000000000"), "refused");
  EXPECT_EQ(parsed("000000000000000000000000000000001"), "1");
}

TEST(ParseNumber, SuffixesMultiplyWhereTheyAreAllowed) {
  EXPECT_EQ(parsed("1K", true), "1024");
  EXPECT_EQ(parsed("1k", true), "1024");
  EXPECT_EQ(parsed("3M", true), "3145728");
  EXPECT_EQ(parsed("2g", true), "2147483648");
  EXPECT_EQ(parsed("0x10K", true), "16384");
  EXPECT_EQ(parsed("0K", true), "0");
  EXPECT_EQ(parsed("17179869183G", true), "18446744072635809792");
  EXPECT_EQ(parsed("17179869184G", true), "refused");
  for (const char* const text : {"K", "1KK", "1T", "1KB", "1 K", "0xK", "+M"})
    EXPECT_EQ(parsed(text, true), "refused") << text;
}

class OptionsTest : public ::testing::Test {
 protected:
  // The features in force are the process's, not those of one object.
  ~OptionsTest() override { sealed.hardening = 0; }

  // The warnings.
  std::string read(std::vector<const char*> environment) {
    environment.push_back(nullptr);
    Options::Warnings warnings;
    options_.read_environment(environment.data(), &warnings);
    return std::string(warnings.view());
  }
  std::string read_own(const char* list) {
    Options::Warnings warnings;
    options_.read_arenite_options(list, &warnings);
    return std::string(warnings.view());
  }

  Options options_;
};

TEST_F(OptionsTest, DefaultsAreGlibcs) {
  EXPECT_EQ(options_.mmap_threshold(), 128_KiB);
  EXPECT_EQ(options_.trim_threshold(), 128_KiB);
  EXPECT_EQ(options_.top_pad(), 128_KiB);
  EXPECT_EQ(options_.mmap_max(), 65536U);
  EXPECT_EQ(options_.arena_max(), 0U);
  EXPECT_EQ(options_.arena_test(), 8U);
  EXPECT_EQ(options_.check_action(), 3U);
  EXPECT_EQ(options_.perturb(), 0U);
  EXPECT_EQ(options_.thread_cache(), 1U);
  EXPECT_EQ(options_.reservation(), kHeapSize);
  EXPECT_TRUE(options_.dynamic_thresholds());
  EXPECT_EQ(read({"PATH=/bin", "MALLOC_=1"}), "");
  EXPECT_EQ(options_.get(Index::mmap_threshold), 128_KiB);
}

TEST_F(OptionsTest, DefaultsLieInTheirRanges) {
  std::size_t index = 0;
  for (const OptionRow& row : Options::kRows) {
    const std::size_t value = options_.get(static_cast<Index>(index++));
    EXPECT_LE(value, row.most) << row.name;
    EXPECT_FALSE(row.doc.empty()) << row.name;
    if (row.name == "arena_max") continue;  // 0 is what cannot be set: by processors
    EXPECT_GE(value, row.least) << row.name;
  }
}

TEST_F(OptionsTest, EachSourceOverridesTheOneBefore) {
  EXPECT_EQ(read({"MALLOC_TOP_PAD_=1000"}), "");
  EXPECT_EQ(options_.top_pad(), 1000U);
  EXPECT_EQ(read({"GLIBC_TUNABLES=glibc.malloc.top_pad=2000", "MALLOC_TOP_PAD_=1000"}), "");
  EXPECT_EQ(options_.top_pad(), 2000U);
  EXPECT_EQ(read({"ARENITE_OPTIONS=top_pad=3000", "GLIBC_TUNABLES=glibc.malloc.top_pad=2000", "MALLOC_TOP_PAD_=1000"}),
            "");
  EXPECT_EQ(options_.top_pad(), 3000U);
  options_.set(Index::top_pad, 4000);
  EXPECT_EQ(options_.top_pad(), 4000U);
}

TEST_F(OptionsTest, EveryMallocVariableIsRead) {
  EXPECT_EQ(read({"MALLOC_ARENA_MAX=3", "MALLOC_ARENA_TEST=4", "MALLOC_MMAP_MAX_=5", "MALLOC_MMAP_THRESHOLD_=0x6000",
                  "MALLOC_PERTURB_=7", "MALLOC_TOP_PAD_=010", "MALLOC_TRIM_THRESHOLD_=9"}),
            "");
  EXPECT_EQ(options_.arena_max(), 3U);
  EXPECT_EQ(options_.arena_test(), 4U);
  EXPECT_EQ(options_.mmap_max(), 5U);
  EXPECT_EQ(options_.mmap_threshold(), 0x6000U);
  EXPECT_EQ(options_.perturb(), 7U);
  EXPECT_EQ(options_.top_pad(), 8U);
  EXPECT_EQ(options_.trim_threshold(), 9U);
}

TEST_F(OptionsTest, BadVariablesArePassedOverInSilence) {
  EXPECT_EQ(read({"MALLOC_ARENA_MAX=0", "MALLOC_PERTURB_=256", "MALLOC_TOP_PAD_=abc", "MALLOC_TRIM_THRESHOLD_=1K",
                  "MALLOC_MMAP_MAX_=", "MALLOC_MMAP_THRESHOLD_=99999999999999999999"}),
            "");
  EXPECT_EQ(options_.arena_max(), 0U);
  EXPECT_EQ(options_.perturb(), 0U);
  EXPECT_EQ(options_.top_pad(), 128_KiB);
  EXPECT_TRUE(options_.dynamic_thresholds());
}

TEST_F(OptionsTest, TunablesFollowGlibcsGrammar) {
  EXPECT_EQ(read({"GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.rtld.nns=4::glibc.malloc.perturb=0x11:glibc.malloc."
                  "mmap_max=7"}),
            "");
  EXPECT_EQ(options_.arena_max(), 2U);
  EXPECT_EQ(options_.perturb(), 0x11U);
  EXPECT_EQ(options_.mmap_max(), 7U);
}

TEST_F(OptionsTest, TheLastOfTwoEqualTunablesCounts) {
  read({"GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.arena_max=3"});
  EXPECT_EQ(options_.arena_max(), 3U);
}

TEST_F(OptionsTest, ASecondEqualsSignSpoilsAllTunables) {
  EXPECT_EQ(read({"GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.perturb=glibc.malloc.perturb=3"}), "");
  EXPECT_EQ(options_.arena_max(), 0U);
  EXPECT_EQ(options_.perturb(), 0U);
}

TEST_F(OptionsTest, UnusableTunablesArePassedOverInSilence) {
  EXPECT_EQ(
      read(
          {"GLIBC_TUNABLES=glibc.malloc.perturb=256:glibc.malloc.arena_max:glibc.malloc.=1:=2:glibc.malloc.arena_max=x:"
           "glibc.malloc.arena_maxx=3:malloc.arena_max=3:glibc.malloc.top_pad=1"}),
      "");
  EXPECT_EQ(options_.perturb(), 0U);
  EXPECT_EQ(options_.arena_max(), 0U);
  EXPECT_EQ(options_.top_pad(), 1U) << "what follows them still counts";
}

TEST_F(OptionsTest, OwnOptionsTakeEveryNameAndSuffixes) {
  EXPECT_EQ(read_own("top_pad=1M:trim_threshold=0x10k:thread_cache=0::arena_max=5:check_action=0:reservation=2m:"), "");
  EXPECT_EQ(options_.top_pad(), 1_MiB);
  EXPECT_EQ(options_.trim_threshold(), 16_KiB);
  EXPECT_EQ(options_.thread_cache(), 0U);
  EXPECT_EQ(options_.arena_max(), 5U);
  EXPECT_EQ(options_.check_action(), 0U);
  EXPECT_EQ(options_.reservation(), 2_MiB);
  for (const OptionRow& row : Options::kRows) {
    const std::string value = row.type == OptionType::Features ? "3,-zero" : std::to_string(row.most);
    const std::string entry = std::string(row.name) + "=" + value;
    EXPECT_EQ(read_own(entry.c_str()), "") << entry;
  }
}

TEST_F(OptionsTest, HardeningIsALevelWithFeatures) {
  EXPECT_FALSE(options_.hardened(Feature::canary));
  EXPECT_EQ(read_own("harden=2,-zero"), "");
  EXPECT_TRUE(options_.hardened(Feature::canary));
  EXPECT_FALSE(options_.hardened(Feature::zero));
  EXPECT_EQ(read_own("harden=5"),
            "arenite: ARENITE_OPTIONS: 'harden=5' is ignored: it takes a level from 0 to 3, and features as in "
            "2,-quarantine\n");
  EXPECT_TRUE(options_.hardened(Feature::canary));
}

TEST_F(OptionsTest, BadOwnOptionsAreNamedInOneLineEachAndIgnored) {
  EXPECT_EQ(read_own("nonsense=1"),
            "arenite: ARENITE_OPTIONS: 'nonsense=1' is ignored: there is no option of that name; docs/options.md lists "
            "them\n");
  EXPECT_EQ(read_own("perturb=256"),
            "arenite: ARENITE_OPTIONS: 'perturb=256' is ignored: it takes a number from 0 to 255\n");
  EXPECT_EQ(read_own("reservation=65M"),
            "arenite: ARENITE_OPTIONS: 'reservation=65M' is ignored: it takes bytes (K, M or G "
            "may follow) from 0 to 67108864\n");
  for (const char* const entry :
       {"perturb", "perturb=", "perturb=x", "=1", "perturb=1K", "perturb=1=2", "Perturb=1", " perturb=1"}) {
    const std::string warning = read_own(entry);
    EXPECT_NE(warning.find("'" + std::string(entry) + "'"), std::string::npos) << warning;
    EXPECT_EQ(warning.find('\n'), warning.size() - 1) << warning;
  }
  EXPECT_EQ(options_.perturb(), 0U);
  EXPECT_EQ(read_own("bad=1:perturb=9").find("'bad=1'"), std::string_view("arenite: ARENITE_OPTIONS: ").size());
  EXPECT_EQ(options_.perturb(), 9U) << "the others count";
}

TEST_F(OptionsTest, TooManyWarningsAreCutOff) {
  std::string list;
  for (int i = 0; i < 1000; ++i) list += "x" + std::to_string(i) + "=1:";
  EXPECT_EQ(read_own(list.c_str()).size(), 1024U);
}

TEST_F(OptionsTest, MinusOneIsTheLargestNumber) {
  std::size_t value = 0;
  EXPECT_TRUE(parse_number("-1", false, &value));
  EXPECT_EQ(value, SIZE_MAX);
  options_.read_tunables("glibc.malloc.trim_threshold=-1:glibc.malloc.perturb=-1");
  EXPECT_EQ(options_.trim_threshold(), SIZE_MAX);
  EXPECT_FALSE(options_.dynamic_thresholds());
  EXPECT_EQ(options_.perturb(), 0U) << "out of range";
}

TEST_F(OptionsTest, ThresholdsFollowFreedMappings) {
  options_.follow_freed_mapping(128_KiB - 1);
  EXPECT_EQ(options_.mmap_threshold(), 128_KiB);
  options_.follow_freed_mapping(128_KiB);
  EXPECT_EQ(options_.mmap_threshold(), 128_KiB + 1) << "the next request of that length is not mapped";
  options_.follow_freed_mapping(1_MiB);
  EXPECT_EQ(options_.mmap_threshold(), 1_MiB + 1);
  EXPECT_EQ(options_.trim_threshold(), 2_MiB);
  options_.follow_freed_mapping(512_KiB);
  EXPECT_EQ(options_.mmap_threshold(), 1_MiB + 1) << "never down";
  options_.follow_freed_mapping(32_MiB + 1);
  EXPECT_EQ(options_.mmap_threshold(), 1_MiB + 1);
  options_.follow_freed_mapping(32_MiB);
  EXPECT_EQ(options_.mmap_threshold(), 32_MiB + 1);
  EXPECT_EQ(options_.trim_threshold(), 64_MiB);
  EXPECT_TRUE(options_.dynamic_thresholds());
}

TEST_F(OptionsTest, SettingAnyOfTheFourStopsThat) {
  for (const Index index : {Index::mmap_threshold, Index::trim_threshold, Index::top_pad, Index::mmap_max}) {
    Options fresh;
    fresh.set(index, fresh.get(index));
    EXPECT_FALSE(fresh.dynamic_thresholds());
    const std::size_t before = fresh.mmap_threshold();
    fresh.follow_freed_mapping(8_MiB);
    EXPECT_EQ(fresh.mmap_threshold(), before);
  }
  for (const Index index :
       {Index::arena_max, Index::perturb, Index::check_action, Index::thread_cache, Index::reservation}) {
    Options fresh;
    fresh.set(index, 1);
    EXPECT_TRUE(fresh.dynamic_thresholds());
  }
  read({"MALLOC_TOP_PAD_=5"});
  EXPECT_FALSE(options_.dynamic_thresholds()) << "from the environment, too";
}

}  // namespace
}  // namespace arenite
