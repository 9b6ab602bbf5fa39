#include "engine/tokenizer/merge.hpp"

#include <map>

#include "engine/tokenizer/merge_model.hpp"
#include "tests/engine/tokenizer/support.hpp"

namespace vouch::engine {
namespace {

using test::plain;

std::vector<merge_symbol> symbols_of(std::size_t count, std::mt19937& rng,
                                     unsigned kinds) {
  std::vector<merge_symbol> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back({static_cast<token_id>(rng() % kinds),
                   static_cast<std::uint32_t>(i), 1});
  }
  return out;
}

/// Joins tokens below 40 at random but repeatable ranks, several of them equal.
merge_candidate random_rule(const merge_symbol& left,
                            const merge_symbol& right) {
  if (left.id >= 40 || right.id >= 40) return {};
  const std::uint32_t mix =
      static_cast<std::uint32_t>(left.id * 41 + right.id) * 2654435761u;
  if (mix % 3 == 0) return {};
  return {mix >> 27, static_cast<token_id>((mix >> 8) % 60)};
}

TEST(Merge, WithAHeapOrWithoutIsTheSame) {
  std::mt19937 rng{6};
  std::vector<merge_candidate> scratch;
  for (int round = 0; round < 5000; ++round) {
    auto few = symbols_of(rng() % 60, rng, 1 + rng() % 40);
    auto many = few;
    detail::merge_few(few, random_rule, scratch);
    detail::merge_many(many, random_rule);
    ASSERT_EQ(few.size(), many.size());
    for (std::size_t i = 0; i < few.size(); ++i) {
      ASSERT_EQ(few[i].id, many[i].id);
      ASSERT_EQ(few[i].begin, many[i].begin);
      ASSERT_EQ(few[i].bytes, many[i].bytes);
    }
  }
}

TEST(Merge, TakesTheLeftmostOfEquals) {
  std::vector<merge_candidate> scratch;
  std::vector<merge_symbol> three = {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}};
  const auto pair_up = [](const merge_symbol& a, const merge_symbol& b) {
    return a.id == 0 && b.id == 0 ? merge_candidate{0, 1} : merge_candidate{};
  };
  merge_all(three, pair_up, scratch);
  ASSERT_EQ(three.size(), 2u);
  EXPECT_EQ(three[0].id, 1);
  EXPECT_EQ(three[1].id, 0);
}

TEST(Merge, LooksUpAtMostThreePairsASymbol) {
  std::mt19937 rng{7};
  for (const std::size_t count : {1000u, 100000u}) {
    std::size_t lookups = 0;
    auto symbols = symbols_of(count, rng, 40);
    detail::merge_many(symbols,
                       [&](const merge_symbol& a, const merge_symbol& b) {
                         ++lookups;
                         return random_rule(a, b);
                       });
    EXPECT_LE(lookups, 3 * count);
  }
}

TEST(Merge, AMegabyteInOnePieceIsNoTrouble) {
  for (const auto name : {"gpt-2", "llama-bpe", "llama-spm"}) {
    const auto file = test::vocabulary_file(name);
    VOUCH_REQUIRE_CACHED(file);
    const auto model = load_tokenizer(file);
    std::mt19937 rng{8};
    std::string letters;
    while (letters.size() < 1'000'000) {
      letters += static_cast<char>('a' + rng() % 26);
    }
    for (const std::string& text :
         {letters, std::string(1'000'000, 'a'), std::string(1'000'000, ' ')}) {
      const auto ids = model->encode(text, plain());
      EXPECT_EQ(model->decode(ids, false), text) << name;
    }
  }
}

TEST(MergeTable, FindsWhatWasInserted) {
  std::mt19937 rng{9};
  std::map<std::pair<token_id, token_id>, std::uint32_t> truth;
  merge_table table{5000};
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto a = static_cast<token_id>(rng() % 100);
    const auto b = static_cast<token_id>(rng() % 100);
    truth[{a, b}] = i;
    table.insert(a, b, {i, static_cast<token_id>(i)});
  }
  for (token_id a = 0; a < 100; ++a) {
    for (token_id b = 0; b < 100; ++b) {
      const auto found = truth.find({a, b});
      EXPECT_EQ(table.find(a, b).rank,
                found == truth.end() ? merge_candidate::never : found->second);
    }
  }
}

}  // namespace
}  // namespace vouch::engine
