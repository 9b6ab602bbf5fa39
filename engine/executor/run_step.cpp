#include "engine/executor/run_step.hpp"

#include <memory>
#include <utility>

namespace vouch::engine {

std::future<step_result> submit(executor& device, step work) {
  // Shared: the executor's thread may still be inside set_value when the result
  // is there.
  auto promise = std::make_shared<std::promise<step_result>>();
  auto result = promise->get_future();
  device.submit(std::move(work), [promise](step_result done) {
    promise->set_value(std::move(done));
  });
  return result;
}

draft_result run_draft(executor& device, draft_batch work) {
  auto promise = std::make_shared<std::promise<draft_result>>();
  auto result = promise->get_future();
  device.draft(std::move(work), [promise](draft_result done) {
    promise->set_value(std::move(done));
  });
  return result.get();
}

step_result run_step(executor& device, step work) {
  return submit(device, std::move(work)).get();
}

}  // namespace vouch::engine
