#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/error.hpp"
#include "kernels/cores.hpp"
#include "runtime/compute_cpus.hpp"
#include "runtime/config_loader.hpp"
#include "runtime/folders.hpp"
#include "runtime/settings.hpp"

namespace vouch::runtime {
namespace {

class ConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path{::testing::TempDir()} /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name,
                              const std::string& text) {
    std::ofstream{folder_ / name} << text;
    return folder_ / name;
  }

  /// The message of the input_error that reading `text` throws.
  std::string failure_of(const std::string& text) {
    config_loader loader;
    try {
      loader.read_file(write("server.toml", text));
      loader.finish();
    } catch (const engine::input_error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

TEST_F(ConfigTest, FlagsOverEnvironmentOverFileOverDefault) {
  config_loader loader;
  loader.read_file(write("server.toml",
                         "[server]\nport = 1\nhost = \"::1\"\n"
                         "max_n = 3\n"));
  const std::map<std::string, std::string> variables{
      {"VOUCH_SERVER_PORT", "2"}, {"VOUCH_SERVER_HOST", "0.0.0.0"}};
  loader.read_environment(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
      });
  loader.set("server.port", "3", "--port");
  const auto settings = loader.finish();
  EXPECT_EQ(settings.server.port, 3);
  EXPECT_EQ(settings.server.host, "0.0.0.0");
  EXPECT_EQ(settings.server.max_n, 3);
  EXPECT_EQ(settings.engine.kv_type, "f16");
  EXPECT_EQ(loader.origin("server.port"), "--port");
  EXPECT_EQ(loader.origin("server.host"), "VOUCH_SERVER_HOST");
  EXPECT_EQ(loader.origin("server.max_n"),
            (folder_ / "server.toml").string() + ":4");
  EXPECT_EQ(loader.origin("engine.kv_type"), "default");
}

TEST_F(ConfigTest, FileErrorsNameFileLineAndKey) {
  const auto file = (folder_ / "server.toml").string();
  EXPECT_EQ(failure_of("[server]\nport = 70000\n")
                .rfind(file + ":2: server.port: ", 0),
            0U);
  const auto misspelt = failure_of("[server]\nhost = \"a\"\nprot = 1\n");
  EXPECT_EQ(misspelt.rfind(file + ":3: server.prot: ", 0), 0U) << misspelt;
  EXPECT_NE(misspelt.find("did you mean 'port'"), std::string::npos)
      << misspelt;
  EXPECT_EQ(failure_of("[engine]\nkv_type = \"f8\"\n"),
            file + ":2: engine.kv_type: expected one of f16, f32, got 'f8'");
  EXPECT_NE(failure_of("[server]\nport = \"x\"\n").find(":2: server.port: "),
            std::string::npos);
  EXPECT_NE(failure_of("[server\n"), "");
  EXPECT_NE(failure_of("[engine]\nkv_blocks = 4\nmax_context = 100\n")
                .find("engine.max_context: 100 tokens do not fit"),
            std::string::npos);
  EXPECT_EQ(failure_of("[server]\nmax_body_bytes = 300000000\n"),
            file +
                ":2: server.max_body_bytes = 300000000 is more than "
                "server.max_body_bytes_in_flight = 268435456");
  EXPECT_EQ(failure_of("[server]\nmax_body_bytes_in_flight = 1024\n"),
            file +
                ":2: server.max_body_bytes = 8388608 is more than "
                "server.max_body_bytes_in_flight = 1024");
}

TEST_F(ConfigTest, CpuListNamesCpusOfThisProcessOneForEachThread) {
  const auto cpu = std::to_string(kernels::allowed_cpus().front());
  config_loader loader;
  loader.set("engine.cpu_list", cpu, "--cpu-list");
  EXPECT_EQ(loader.finish().engine.cpu_list, cpu);
  const auto file = (folder_ / "server.toml").string();
  EXPECT_EQ(
      failure_of("[engine]\ncpu_list = \"" + cpu + "\"\nthreads = 3\n"),
      file + ":2: engine.cpu_list: '" + cpu + "': 1 CPU for 3 compute threads");
  EXPECT_EQ(failure_of("[engine]\ncpu_list = \"3-1\"\n"),
            file + ":2: engine.cpu_list: '3-1': the range runs backwards");
  EXPECT_NE(failure_of("[engine]\ncpu_list = \"16000\"\n")
                .find("CPU 16000 is not one this process may use ("),
            std::string::npos);
}

TEST(ComputeCpus, OneForEachThreadInTheOrderListed) {
  const auto cpus = kernels::allowed_cpus();
  auto listed = cpus;
  std::reverse(listed.begin(), listed.end());
  const std::string text = kernels::cpu_list_text(listed);
  EXPECT_EQ(compute_cpus(text, 0, "x"), listed);
  EXPECT_EQ(compute_cpus(text, 1, "x"), std::vector{listed.front()});
  EXPECT_EQ(compute_cpus("", 4, "x"), std::vector<int>{});
  // What keeps off the listed ones still may list them.
  std::thread{[&] {
    keep_off(listed);  // all of them: there are no others to go to
    EXPECT_EQ(kernels::allowed_cpus(), cpus);
    if (cpus.size() < 2) return;
    keep_off({cpus.front()});
    EXPECT_EQ(kernels::allowed_cpus(),
              (std::vector<int>{cpus.begin() + 1, cpus.end()}));
    EXPECT_EQ(compute_cpus(text, 0, "x"), listed);
  }}.join();
}

TEST_F(ConfigTest, TextErrorsNameTheFlagOrTheVariable) {
  config_loader loader;
  try {
    loader.set("server.port", "abc", "--port");
    FAIL();
  } catch (const engine::input_error& error) {
    EXPECT_STREQ(error.what(), "--port: expected an integer, got 'abc'");
  }
  try {
    loader.read_environment(
        [](const std::string& name) -> std::optional<std::string> {
          if (name == "VOUCH_SERVER_STRICT") return "maybe";
          return std::nullopt;
        });
    FAIL();
  } catch (const engine::input_error& error) {
    EXPECT_STREQ(error.what(),
                 "VOUCH_SERVER_STRICT: expected true or false, got 'maybe'");
  }
}

TEST_F(ConfigTest, SpeculationIsCheckedStrictly) {
  const std::map<std::string, std::string> wrong{
      {"width = 1", ":2: speculation.width: "},
      {"width = 65", ":2: speculation.width: "},
      {"widht = 4", "speculation.widht: unknown key"},
      {"drafter = \"lookpu\"",
       ":2: speculation.drafter: 'lookpu' is neither 'lookup' nor 'none' nor "
       "a file or folder"},
      {"drafter = \"\"", ":2: speculation.drafter: is empty"},
      {"lookup_min = 5",
       ":2: speculation.lookup_min: speculation.lookup_min = 5 is more than "
       "speculation.lookup_max = 4"},
      {"lookup_max = 1", ":2: speculation.lookup_max: "},
      {"lookup_max = 17", ":2: speculation.lookup_max: "},
      {"probe = \"maybe\"", "expected one of on, off, got 'maybe'"},
      {"controller = \"\"", "expected one of auto, fixed"},
      {"audit_share = 0.6", ":2: speculation.audit_share: "},
      {"audit_share = nan", ":2: speculation.audit_share: "},
      {"allow_inexact = 1", ":2: speculation.allow_inexact: "},
      {"transcript = \"/no/such/folder/t.jsonl\"",
       ":2: speculation.transcript: there is no folder '/no/such/folder'"},
  };
  for (const auto& [line, what] : wrong) {
    const auto said = failure_of("[speculation]\n" + line + "\n");
    EXPECT_NE(said.find(what), std::string::npos) << line << ": " << said;
  }
  EXPECT_EQ(failure_of("[speculation]\ndrafter = \"scripted:right\"\n"), "");
  EXPECT_EQ(
      failure_of("[speculation]\ndrafter = \"" + folder_.string() + "\"\n"),
      "");
}

TEST_F(ConfigTest, FaultsAreReadStrictly) {
  EXPECT_EQ(failure_of("[test]\nfaults = [\"op=logits rows>=8 ulp=1\", "
                       "\"op=stop\"]\n"),
            "");
  const auto said =
      failure_of("[test]\nfaults = [\"op=stop\", \"op=logist ulp=1\"]\n");
  EXPECT_NE(said.find(":2: test.faults: fault 'op=logist ulp=1': op: "),
            std::string::npos)
      << said;
  config_loader loader;
  loader.set("test.faults", "op=stop,rows>=2", "--test.faults");
  EXPECT_THROW(loader.finish(), engine::input_error);
}

TEST_F(ConfigTest, VerdictsAndEvidenceHaveAPlace) {
  config settings;
  const std::map<std::string, std::string> variables{{"HOME", "/home/a"}};
  const auto home = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  const auto nothing = [](const std::string&) -> std::optional<std::string> {
    return std::nullopt;
  };
  EXPECT_EQ(verdict_folder(settings, home), "/home/a/.cache/vouch/verdicts");
  EXPECT_EQ(evidence_folder(settings, home), "/home/a/.cache/vouch/evidence");
  EXPECT_EQ(verdict_folder(settings, nothing), "");
  settings.speculation.verdict_dir = "none";
  settings.speculation.evidence_dir = "here";
  EXPECT_EQ(verdict_folder(settings, home), "");
  EXPECT_EQ(evidence_folder(settings, home), "here");
}

TEST_F(ConfigTest, PolicyFileIsRelativeToTheFileThatNamesIt) {
  write("mine.toml", "[limits]\nmax_running = 7\n");
  config_loader loader;
  loader.read_file(write("server.toml", "[policy]\nfile = \"mine.toml\"\n"));
  EXPECT_EQ(loader.finish().policy.limits.max_running, 7);
}

TEST_F(ConfigTest, PrintShowsEveryKeyWithItsOriginAndHidesKeys) {
  config_loader loader;
  loader.set("server.api_keys", "secret-a,secret-b", "--api-key");
  const auto text = loader.print();
  config everything;
  for (const auto& each : settings_of(everything)) {
    const auto name = each.key.substr(each.key.find('.') + 1);
    EXPECT_NE(text.find(std::string{name} + " = "), std::string::npos) << name;
  }
  EXPECT_NE(text.find("api_keys = [\"***\", \"***\"]  # --api-key"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("secret-a"), std::string::npos);
}

TEST_F(ConfigTest, PrintedConfigurationReadsBack) {
  config_loader loader;
  loader.set("server.idle_timeout", "12.5", "--server.idle_timeout");
  config_loader again;
  again.read_file(write("printed.toml", loader.print()));
  EXPECT_EQ(again.finish().server.idle_timeout, 12.5);
}

TEST_F(ConfigTest, ShippedExamplesLoadAndListEverySetting) {
  const std::filesystem::path configs =
      std::filesystem::path{VOUCH_SOURCE_DIR} / "configs";
  config_loader run;
  run.read_file(configs / "run.toml");
  EXPECT_EQ(run.finish().server.port, 8080);
  config_loader all;
  all.read_file(configs / "server.toml");
  all.finish();
  config defaults;
  for (const auto& each : settings_of(defaults)) {
    EXPECT_NE(all.origin(each.key), "default") << each.key << " is not shown";
  }
  EXPECT_EQ(all.print().substr(0, 8), "[server]");
}

TEST(ConfigFile, DefaultPlaces) {
  const auto folder =
      std::filesystem::path{::testing::TempDir()} / "config_places";
  std::filesystem::create_directories(folder / "vouch");
  const auto lookup =
      [&](const std::string& name) -> std::optional<std::string> {
    if (name == "XDG_CONFIG_HOME") return folder.string();
    return std::nullopt;
  };
  std::ofstream{folder / "vouch/config.toml"} << "\n";
  EXPECT_EQ(default_config_file(lookup), folder / "vouch/config.toml");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace vouch::runtime
