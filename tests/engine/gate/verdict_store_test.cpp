#include "engine/gate/verdict_store.hpp"

#include <fstream>
#include <system_error>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace vouch::engine {
namespace {

verdict_scope some_scope() {
  verdict_scope scope;
  scope.model = "0123";
  scope.program = "4567";
  scope.backend = "cpu";
  scope.device = "a processor";
  scope.dispatch = "AVX2";
  scope.threads = 2;
  scope.plan = "invariant";
  scope.kv_format = "f16";
  scope.drafter = "lookup";
  scope.taps = {1, 9};
  scope.step_rows = 512;
  scope.chunk = 256;
  scope.block = 16;
  scope.split = 256;
  return scope;
}

verdict_table equal_table() {
  verdict_table table;
  table.batch.state = verdict_state::equal;
  table.batch.rows = 10;
  table.batch.positions = 1024;
  table.widths[2] = table.batch;
  return table;
}

verdict_table tripped_table() {
  auto table = equal_table();
  table.widths[2].state = verdict_state::tripped;
  table.widths[2].reason = "audit";
  return table;
}

TEST(VerdictScope, EveryFieldIsPartOfTheId) {
  const auto id = scope_id(some_scope());
  EXPECT_EQ(id.size(), 16U);
  const auto differs = [&](auto change) {
    auto scope = some_scope();
    change(scope);
    EXPECT_NE(scope_id(scope), id) << scope_text(scope);
  };
  differs([](auto& s) { s.model = "x"; });
  differs([](auto& s) { s.program = "x"; });
  differs([](auto& s) { s.backend = "x"; });
  differs([](auto& s) { s.device = "x"; });
  differs([](auto& s) { s.libraries = "x"; });
  differs([](auto& s) { s.dispatch = "x"; });
  differs([](auto& s) { s.threads = 3; });
  differs([](auto& s) { s.plan = "x"; });
  differs([](auto& s) { s.kv_format = "x"; });
  differs([](auto& s) { s.drafter = "x"; });
  differs([](auto& s) { s.drafter_model = "x"; });
  differs([](auto& s) { s.taps = {1, 8}; });
  differs([](auto& s) { s.faults = "x"; });
  differs([](auto& s) { s.step_rows = 3; });
  differs([](auto& s) { s.chunk = 3; });
  differs([](auto& s) { s.block = 3; });
  differs([](auto& s) { s.split = 3; });
  EXPECT_EQ(scope_id(some_scope()), id);
}

TEST(VerdictScope, ValuesCannotSpellOtherFields) {
  auto one = some_scope();
  one.device = "x\nlibraries=y";
  auto other = some_scope();
  other.device = "x";
  other.libraries = "y";
  EXPECT_NE(scope_text(one), scope_text(other));
}

TEST(VerdictScope, TheProgramHasAFingerprint) {
  EXPECT_EQ(program_fingerprint().size(), 16U);
  EXPECT_EQ(program_fingerprint(), program_fingerprint());
}

class VerdictStore : public testing::Test {
 protected:
  void overwrite(const std::string& text) {
    std::ofstream{store.file_of(some_scope())} << text;
  }
  std::string content() const {
    std::ifstream in{store.file_of(some_scope())};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  void expect_ignored(const std::string& why) {
    const auto found = store.load(some_scope());
    EXPECT_FALSE(found.table);
    EXPECT_NE(found.warning.find(why), std::string::npos) << found.warning;
  }

  test::temporary_folder folder;
  verdict_store store{folder.path() / "deep" / "verdicts"};
};

TEST_F(VerdictStore, SavesAndFinds) {
  EXPECT_FALSE(store.load(some_scope()).table);
  EXPECT_EQ(store.load(some_scope()).warning, "");
  store.save(some_scope(), equal_table());
  const auto found = store.load(some_scope());
  ASSERT_TRUE(found.table);
  EXPECT_TRUE(found.table->widths.at(2).equal());
  EXPECT_EQ(found.table->widths.at(2).source, verdict_source::stored);
  auto other = some_scope();
  other.threads = 3;
  EXPECT_FALSE(store.load(other).table);
}

TEST_F(VerdictStore, ATripStaysUntilItIsCleared) {
  store.save(some_scope(), equal_table());
  store.save(some_scope(), tripped_table());
  store.save(some_scope(), equal_table());
  EXPECT_TRUE(store.load(some_scope()).table->widths.at(2).tripped());
  EXPECT_TRUE(store.clear("another model").empty());
  EXPECT_TRUE(store.load(some_scope()).table->widths.at(2).tripped());
  EXPECT_EQ(store.clear("0123").size(), 1U);
  store.save(some_scope(), equal_table());
  EXPECT_TRUE(store.load(some_scope()).table->widths.at(2).equal());
}

TEST_F(VerdictStore, DamageIsNeverAnEqual) {
  store.save(some_scope(), equal_table());
  const auto good = content();
  overwrite("");
  expect_ignored("is no JSON");
  overwrite("{}");
  expect_ignored("format is not 1");
  overwrite("[1]");
  expect_ignored("is no object");
  // Cut anywhere, or with a byte changed, it is ignored or says the same.
  for (std::size_t cut = 0; cut + 2 < good.size(); cut += 7) {
    overwrite(good.substr(0, cut));
    EXPECT_FALSE(store.load(some_scope()).table) << cut;
  }
  auto renamed = good;
  renamed.replace(renamed.find("AVX2"), 4, "AVX3");
  overwrite(renamed);
  expect_ignored("scope is another one");
}

TEST_F(VerdictStore, AnUnreadableFileIsKeptAside) {
  store.save(some_scope(), tripped_table());
  overwrite("{\"format\":1,");
  store.save(some_scope(), equal_table());
  EXPECT_TRUE(store.load(some_scope()).table->widths.at(2).equal());
  EXPECT_TRUE(std::filesystem::exists(store.file_of(some_scope()).string() +
                                      ".unreadable"));
}

TEST_F(VerdictStore, WithoutAFolderNothingIsStored) {
  const verdict_store none{{}};
  none.save(some_scope(), equal_table());
  EXPECT_FALSE(none.load(some_scope()).table);
}

TEST_F(VerdictStore, AFolderThatCannotBeWrittenIsAnError) {
  std::ofstream{folder.path() / "file"} << "x";
  const verdict_store bad{folder.path() / "file" / "verdicts"};
  EXPECT_THROW(bad.save(some_scope(), equal_table()), std::system_error);
}

}  // namespace
}  // namespace vouch::engine
