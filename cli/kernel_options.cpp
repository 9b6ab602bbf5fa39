#include "cli/kernel_options.hpp"

#include <stdexcept>

#include "engine/error.hpp"

namespace vouch::cli {

void add_kernel_options(CLI::App& command, std::string& plan,
                        std::vector<std::string>& faults,
                        std::int32_t& threads) {
  command.add_option("--plan", plan, "Kernel plan: invariant or fast")
      ->capture_default_str();
  command
      .add_option("--fault", faults,
                  "A fault to plant, docs/faults.md; repeatable")
      ->take_all();
  command.add_option("--threads", threads, "Compute threads; 0: one a core")
      ->check(CLI::Range(0, 1024));
}

kernels::kernel_plan read_plan(const std::string& name) {
  const auto plan = kernels::find_plan(name);
  if (plan) return *plan;
  throw engine::input_error("--plan",
                            "expected invariant or fast, got '" + name + "'");
}

std::shared_ptr<const engine::fault_plan> read_faults(
    const std::vector<std::string>& faults) {
  if (faults.empty()) return nullptr;
  std::string all;
  for (const auto& each : faults) all += each + "\n";
  try {
    return std::make_shared<const engine::fault_plan>(
        engine::fault_plan::parse(all));
  } catch (const std::invalid_argument& error) {
    throw engine::input_error("--fault", error.what());
  }
}

}  // namespace vouch::cli
