// A server process for clients in other languages: serves a model file or
// folder, writes its port to a file, ends when its standard input ends.
//   test_server MODEL PORT_FILE [API_KEY]

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include "http/server.hpp"
#include "runtime/runtime.hpp"

namespace {

struct system_config : caf::actor_system_config {
  system_config() { vouch::runtime::configure(*this); }
};

int run(int argc, char** argv) {
  vouch::runtime::config settings;
  settings.model.path = argv[1];
  settings.model.name = "tiny";
  settings.server.port = 0;
  settings.engine.threads = 2;
  settings.engine.kv_memory_mib = 64;
  if (argc > 3) settings.server.api_keys = {argv[3]};
  system_config config;
  caf::actor_system system{config};
  vouch::runtime::runtime model{system, settings};
  model.wait_until_ready();
  vouch::http::server server{system, model, settings};
  const auto port = server.start();
  // Written whole, then named: a reader never sees half a number.
  const std::string file = argv[2];
  std::ofstream{file + ".part"} << port;
  if (std::rename((file + ".part").c_str(), file.c_str()) != 0) return 1;
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: test_server MODEL PORT_FILE [API_KEY]\n";
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
