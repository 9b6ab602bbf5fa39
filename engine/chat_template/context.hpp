#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "engine/chat_template/chat_template.hpp"
#include "engine/chat_template/value.hpp"

namespace vouch::engine::jinja {

/// What one rendering may still spend, and where it is. Everything that can
/// take time or memory charges here, so that a hostile template or request
/// ends in an error.
class context {
 public:
  context(const template_budget& budget,
          std::chrono::system_clock::time_point now)
      : now(now), budget_(budget) {}
  virtual ~context() = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// Spends steps; throws render_error when none are left.
  void charge(std::size_t steps = 1) {
    used_ += steps;
    if (used_ > budget_.steps) out_of_steps();
  }
  /// Spends steps for a string of `bytes` about to be made, and refuses one
  /// that is larger than the whole output may be.
  void charge_bytes(std::size_t bytes) {
    check_bytes(bytes);
    charge(bytes / 512);
  }
  /// The refusal alone, for a string that is growing.
  void check_bytes(std::size_t bytes) const {
    if (bytes > budget_.output_bytes) out_of_bytes();
  }

  /// Counts nested evaluation; throws render_error past a fixed depth.
  class nesting {
   public:
    explicit nesting(context& ctx) : ctx_(ctx) {
      if (++ctx_.depth_ > max_nesting) {
        --ctx_.depth_;
        too_deep();
      }
    }
    ~nesting() { --ctx_.depth_; }
    nesting(const nesting&) = delete;
    nesting& operator=(const nesting&) = delete;

   private:
    context& ctx_;
  };
  static constexpr int max_nesting = 1000;

  /// Makes a namespace and remembers it, so that one that holds itself is
  /// freed with the rendering.
  virtual value make_namespace(dict attributes) = 0;

  /// The line being evaluated, for errors.
  int line = 0;
  const std::chrono::system_clock::time_point now;

 private:
  [[noreturn]] void out_of_steps() const;
  [[noreturn]] void out_of_bytes() const;
  [[noreturn]] static void too_deep();

  const template_budget budget_;
  std::size_t used_ = 0;
  int depth_ = 0;
};

}  // namespace vouch::engine::jinja
