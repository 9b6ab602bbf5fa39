#include "kernels/dispatch.hpp"

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dispatch.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

std::int64_t this_target() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(this_target);

std::string active_target() {
  return hwy::TargetName(HWY_DYNAMIC_DISPATCH(this_target)());
}

namespace {

/// Bits of the targets that the build holds and the machine has; better
/// targets are lower bits. A restriction in force does not matter.
std::int64_t usable_targets() {
  static const std::int64_t targets =
      hwy::SupportedTargets() & static_cast<std::int64_t>(HWY_TARGETS);
  return targets;
}

}  // namespace

std::vector<std::string> supported_targets() {
  std::vector<std::string> names;
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((usable_targets() & target) != 0) {
      names.emplace_back(hwy::TargetName(target));
    }
  }
  return names;
}

bool select_target(std::string_view name) {
  std::int64_t chosen = name.empty() ? usable_targets() : 0;
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((usable_targets() & target) != 0 && name == hwy::TargetName(target)) {
      chosen = target;
    }
  }
  if (chosen == 0) return false;
  hwy::SetSupportedTargetsForTest(chosen);
  // The next dispatch looks again.
  hwy::GetChosenTarget().DeInit();
  return true;
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
