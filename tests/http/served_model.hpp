#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <caf/all.hpp>

#include "http/server.hpp"
#include "runtime/runtime.hpp"
#include "tests/http/raw_client.hpp"
#include "tests/support/fake_model.hpp"

namespace vouch::test {

/// ChatML, as the fake model's template; raises what the variable `fail` says.
inline constexpr const char* fake_chat_template =
    "{% if fail %}{{ raise_exception(fail) }}{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// The whole way from a socket to the fake executor and back.
class served_model {
 public:
  explicit served_model(fake_executor_options options = {},
                        runtime::config settings = {});
  ~served_model();

  std::uint16_t port() const { return port_; }
  runtime::runtime& model() { return *runtime_; }
  http::server& server() { return *server_; }

  raw_response ask(std::string_view request) const;
  /// POST with a JSON answer.
  boost::json::value json(std::string_view target, std::string_view body) const;
  /// The text of the first choice, not streamed.
  std::string text(std::string_view target, boost::json::object body) const;
  /// The deltas of the first choice, streamed.
  std::vector<std::string> deltas(std::string_view target,
                                  boost::json::object body) const;

  /// Nothing runs, waits or holds a block that the prefix cache does not.
  bool at_rest() const;

 private:
  struct system_config : caf::actor_system_config {
    system_config() { runtime::configure(*this); }
  };

  system_config config_;
  caf::actor_system system_{config_};
  std::unique_ptr<runtime::runtime> runtime_;
  std::unique_ptr<http::server> server_;
  std::uint16_t port_ = 0;
};

std::string joined(const std::vector<std::string>& parts);

}  // namespace vouch::test
