#include "cli/logging.hpp"

#include <memory>
#include <unistd.h>

#include <boost/json.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace vouch::cli {

namespace {

/// The message as a JSON string, quotes and escapes included.
class json_message : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const auto text = boost::json::serialize(
        boost::json::string{message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<json_message>();
  }
};

}  // namespace

void set_up_logging(const std::string& level, const std::string& format) {
  auto logger = spdlog::stderr_logger_mt("vouch");
  const bool json =
      format == "json" || (format == "auto" && isatty(STDERR_FILENO) == 0);
  if (json) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<json_message>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%*})");
    logger->set_formatter(std::move(formatter));
  } else {
    logger->set_pattern("%H:%M:%S.%e %L %v");
  }
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace vouch::cli
