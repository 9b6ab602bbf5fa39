#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/error.hpp"

namespace vouch::test {

/// `action` must throw input_error whose text holds every one of `parts`.
template <class Action>
void expect_input_error(Action&& action,
                        const std::vector<std::string>& parts) {
  try {
    action();
  } catch (const engine::input_error& error) {
    for (const auto& part : parts) {
      EXPECT_NE(std::string{error.what()}.find(part), std::string::npos)
          << "'" << part << "' is missing in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "no input_error; expected one about '"
                << (parts.empty() ? "" : parts.back()) << "'";
}

}  // namespace vouch::test
