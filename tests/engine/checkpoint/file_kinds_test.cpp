// What stands in a file's place may be a pipe, a socket or a folder: an error
// that names it, never a wait.

#include <filesystem>
#include <functional>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/schedule/policy.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch {
namespace {

namespace fs = std::filesystem;

void make_pipe(const fs::path& path) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0) << path;
}

void make_socket(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto name = path.string();
  ASSERT_LT(name.size(), sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
            0)
      << path;
  ::close(descriptor);
}

struct file_kind {
  const char* says;
  void (*make)(const fs::path&);
};

const file_kind kinds[] = {
    {"is not a regular file", make_pipe},
    {"is not a regular file", make_socket},
    {"is a directory, not a file",
     [](const fs::path& path) { fs::create_directory(path); }},
};

/// Puts every kind in the place of `file` and expects `open` to name it.
void expect_refusals(const fs::path& file, const std::function<void()>& open) {
  for (const auto& kind : kinds) {
    fs::remove_all(file);
    kind.make(file);
    test::expect_input_error(open, {file.filename().string(), kind.says});
  }
  fs::remove_all(file);
}

test::temporary_folder copy_of_tiny() {
  test::temporary_folder folder;
  for (const auto& entry : fs::directory_iterator{test::fixture("llama_tiny")})
    fs::copy_file(entry.path(), folder.path() / entry.path().filename());
  return folder;
}

TEST(FileKinds, EveryFileOfAFolder) {
  for (const std::string name :
       {"config.json", "generation_config.json", "tokenizer_config.json",
        "tokenizer.json", "chat_template.jinja", "model.safetensors",
        "model.safetensors.index.json"}) {
    const auto folder = copy_of_tiny();
    expect_refusals(folder.path() / name, [&] {
      engine::open_checkpoint(folder.path());
      engine::load_tokenizer(folder.path());
    });
  }
}

TEST(FileKinds, Shards) {
  const auto folder = copy_of_tiny();
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"model.norm.weight": "shard.safetensors"}})");
  expect_refusals(folder.path() / "shard.safetensors",
                  [&] { engine::open_checkpoint(folder.path()); });
}

TEST(FileKinds, SingleFiles) {
  const test::temporary_folder folder;
  for (const auto& kind : {kinds[0], kinds[1]}) {
    for (const std::string name : {"m.gguf", "m.safetensors", "m"}) {
      const auto file = folder.path() / name;
      kind.make(file);
      test::expect_input_error([&] { engine::open_checkpoint(file); },
                               {name, kind.says});
      test::expect_input_error([&] { engine::load_tokenizer(file); },
                               {name, kind.says});
      fs::remove(file);
    }
  }
}

TEST(FileKinds, Policy) {
  const test::temporary_folder folder;
  const auto file = folder.path() / "policy.toml";
  expect_refusals(file, [&] { engine::load_policy(file); });
}

}  // namespace
}  // namespace vouch
