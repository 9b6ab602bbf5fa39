#include "engine/config/toml_reader.hpp"

#include <gtest/gtest.h>

#include "engine/error.hpp"

namespace vouch::engine {
namespace {

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const input_error& error) {
    return error.what();
  }
  return "no error";
}

toml_reader read(const std::string& text) {
  return toml_reader::from_text(text, "x.toml");
}

TEST(TomlReader, ReadsTypedValuesAndTheirOrigins) {
  auto r = read(
      "name = \"a\"\n[t]\nflag = true\ncount = 7\nshare = 0.5\nwhole = 2\n"
      "list = [\"a\", \"b\"]\n");
  std::string name;
  bool flag = false;
  std::int64_t count = 0;
  std::int32_t absent = 42;
  double share = 0;
  double whole = 0;
  std::vector<std::string> list;
  EXPECT_TRUE(r.string("name", name));
  EXPECT_TRUE(r.boolean("t.flag", flag));
  EXPECT_TRUE(r.integer("t.count", count, 0, 10));
  EXPECT_TRUE(r.number("t.share", share, 0, 1));
  EXPECT_TRUE(r.number("t.whole", whole, 0, 9));
  EXPECT_TRUE(r.strings("t.list", list));
  EXPECT_FALSE(r.integer("t.absent", absent));
  r.finish();
  EXPECT_EQ(name, "a");
  EXPECT_TRUE(flag);
  EXPECT_EQ(count, 7);
  EXPECT_EQ(absent, 42);
  EXPECT_EQ(share, 0.5);
  EXPECT_EQ(whole, 2.0);
  EXPECT_EQ(list, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(r.origins().at("name"), "x.toml:1");
  EXPECT_EQ(r.origins().at("t.count"), "x.toml:4");
  EXPECT_EQ(r.origins().count("t.absent"), 0U);
}

TEST(TomlReader, NamesTheLineAndTheKey) {
  auto r = read("[t]\nn = \"x\"\nf = nan\ni = 99\ns = 1\nl = [\n\"a\",\n3]\n");
  std::int32_t n = 0;
  double f = 0;
  std::string s;
  bool b = false;
  std::vector<std::string> l;
  EXPECT_EQ(error_of([&] { r.integer("t.n", n); }),
            "x.toml:2: t.n: must be an integer, not a string");
  EXPECT_EQ(error_of([&] { r.number("t.f", f, 0, 1); }),
            "x.toml:3: t.f: nan is not between 0 and 1");
  EXPECT_EQ(error_of([&] { r.integer("t.i", n, 1, 10); }),
            "x.toml:4: t.i: 99 is not between 1 and 10");
  EXPECT_EQ(error_of([&] { r.string("t.s", s); }),
            "x.toml:5: t.s: must be a string, not an integer");
  EXPECT_EQ(error_of([&] { r.boolean("t.s", b); }),
            "x.toml:5: t.s: must be true or false, not an integer");
  EXPECT_EQ(error_of([&] { r.strings("t.l", l); }),
            "x.toml:8: t.l: must hold strings only, not an integer");
  EXPECT_EQ(error_of([&] { r.integer("t", n); }),
            "x.toml:1: t: must be an integer, not a table");
}

TEST(TomlReader, SuggestsTheKeyThatWasMeant) {
  const auto finish = [](const char* text) {
    return error_of([&] {
      auto r = read(text);
      std::int32_t n = 0;
      r.integer("limits.max_running", n);
      r.integer("limits.step_tokens", n);
      r.integer("prefill.chunk_tokens", n);
      r.finish();
    });
  };
  EXPECT_EQ(finish("[limits]\nmax_runing = 3\n"),
            "x.toml:2: limits.max_runing: unknown key, did you mean "
            "'max_running'?");
  EXPECT_EQ(finish("\n[limit]\nmax_running = 3\n"),
            "x.toml:2: limit: unknown key, did you mean 'limits'?");
  EXPECT_EQ(finish("[limits]\nchunk_tokens = 3\n"),
            "x.toml:2: limits.chunk_tokens: unknown key, did you mean "
            "'prefill.chunk_tokens'?");
  EXPECT_EQ(finish("[limits]\nsomething_else = 3\n"),
            "x.toml:2: limits.something_else: unknown key");
  EXPECT_EQ(finish("limits = 3\n"), "x.toml:1: limits: must be a table");
  EXPECT_EQ(finish("[prefill]\nzz = 1\n[limits]\nyy = 1\n"),
            "x.toml:2: prefill.zz: unknown key");
  EXPECT_EQ(finish("[limits]\nstep_tokens = 3\n"), "no error");
}

TEST(TomlReader, ReadsWordsThatStandForValues) {
  auto r = read("a = \"two\"\nb = \"tow\"\n");
  int value = 0;
  EXPECT_TRUE(r.one_of("a", value, {{"one", 1}, {"two", 2}}));
  EXPECT_EQ(value, 2);
  EXPECT_EQ(error_of([&] {
              r.one_of("b", value, {{"one", 1}, {"two", 2}});
            }),
            "x.toml:2: b: 'tow' is not one of one, two; did you mean 'two'?");
}

TEST(TomlReader, RefusesWhatIsNotBuilt) {
  auto r = read("[slo]\nttft = 1.0\n[empty]\n");
  EXPECT_EQ(error_of([&] { r.refuse("slo", "not built yet"); }),
            "x.toml:2: slo.ttft: not built yet");
  EXPECT_EQ(error_of([&] { r.refuse("empty", "not built yet"); }),
            "x.toml:3: empty: not built yet");
  r.refuse("absent", "not built yet");
}

TEST(TomlReader, SaysWhereTheTextIsNotToml) {
  EXPECT_EQ(error_of([] { read("a = 1\nb = = 2\n"); }).rfind("x.toml:2: ", 0),
            0U);
  EXPECT_EQ(error_of([] { read("a = 1\na = 2\n"); }).rfind("x.toml:2: ", 0),
            0U);
  EXPECT_EQ(error_of([] { toml_reader::from_file("/no/such.toml"); }),
            "/no/such.toml: cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([] { toml_reader::from_file("/"); }),
            "/: is a directory, not a file");
}

TEST(TomlReader, RefusesKeysThatAreTooDeep) {
  std::string key = "a";
  for (int i = 0; i < 300000; ++i) key += ".a";
  const std::string want =
      "x.toml:2: has more than 64 dots: no key is that deep";
  EXPECT_EQ(error_of([&] { read("\n" + key + " = 1\n"); }), want);
  EXPECT_EQ(error_of([&] { read("\n[" + key + "]\n"); }), want);
  EXPECT_EQ(error_of([&] { read("\nb = {" + key + " = 1}\n"); }), want);
  read("# " + std::string(100, '.') + "\nb = \"../../../x\"\n");
}

TEST(TomlReader, FailsOnAKeyTheFileLacks) {
  const auto r = read("a = 1\n");
  EXPECT_EQ(error_of([&] { r.fail("b", "is needed"); }),
            "x.toml: b: is needed");
}

}  // namespace
}  // namespace vouch::engine
