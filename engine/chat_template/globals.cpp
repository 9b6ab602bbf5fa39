#include <algorithm>
#include <array>
#include <ctime>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/filters.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"

namespace vouch::engine::jinja {
namespace {

using global_function = value (*)(context&, const arguments&);

class global final : public callable {
 public:
  global(std::string_view name, global_function function)
      : name_(name), function_(function) {}
  value call(context& ctx, const arguments& args) override {
    return function_(ctx, args);
  }
  std::string describe() const override {
    return "<function " + std::string{name_} + '>';
  }

 private:
  std::string_view name_;
  global_function function_;
};

/// The sandbox's bound on a range's length.
constexpr std::uint64_t max_range = 100'000;

value range(context& ctx, const arguments& args) {
  if (!args.keywords.empty() || args.positional.empty()) {
    throw render_error("range expected 1 to 3 positional arguments");
  }
  const auto bound = bind("range", args, {"start", "stop", "step"});
  std::int64_t numbers[3] = {0, 0, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    if (bound[i]) numbers[i] = to_integer(*bound[i], "range");
  }
  if (!bound[1]) std::swap(numbers[0], numbers[1]);
  const auto [start, stop, step] = numbers;
  if (step == 0) throw render_error("range() arg 3 must not be zero");
  bool tainted = false;
  for (const auto& bound_to : bound) {
    tainted = tainted || (bound_to && bound_to->tainted);
  }
  std::vector<value> items;
  const bool any = step > 0 ? start < stop : start > stop;
  if (any) {
    const auto low = static_cast<std::uint64_t>(std::min(start, stop));
    const auto high = static_cast<std::uint64_t>(std::max(start, stop));
    const std::uint64_t stride = step > 0
                                     ? static_cast<std::uint64_t>(step)
                                     : 0 - static_cast<std::uint64_t>(step);
    const std::uint64_t count = (high - low - 1) / stride + 1;
    if (count > max_range) {
      throw render_error(
          "Range too big. The sandbox blocks ranges larger than MAX_RANGE "
          "(100000).");
    }
    ctx.charge(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::int64_t item = start + static_cast<std::int64_t>(i) * step;
      items.push_back(value{item}.with_taint(tainted));
    }
  }
  return make_sequence(sequence_type::range, std::move(items), tainted);
}

/// What dict(...) and namespace(...) make of their arguments.
dict collect(context& ctx, const arguments& args, const char* name) {
  if (args.positional.size() > 1) {
    throw render_error(std::string{name} +
                       " expected at most 1 argument, got " +
                       std::to_string(args.positional.size()));
  }
  dict d;
  if (!args.positional.empty()) {
    const value& source = args.positional[0];
    require_defined(source);
    if (source.is_dict()) {
      ctx.charge(source.as_dict().entries.size());
      d = source.as_dict();
    } else {
      for (const value& pair : iterate(ctx, source)) {
        const std::vector<value> both = iterate(ctx, pair);
        if (both.size() != 2) {
          throw render_error("dictionary update sequence needs pairs");
        }
        d.set(both[0], both[1]);
      }
    }
  }
  for (const auto& [key, item] : args.keywords) {
    d.set(make_string(key, true), item);
  }
  return d;
}

value make_dict_global(context& ctx, const arguments& args) {
  return make_dict(collect(ctx, args, "dict"));
}

value make_namespace_global(context& ctx, const arguments& args) {
  dict d = collect(ctx, args, "namespace");
  for (const auto& entry : d.entries) {
    if (entry.first.is_string()) check_namespace_name(entry.first.bytes());
  }
  return ctx.make_namespace(std::move(d));
}

value raise_exception(context& ctx, const arguments& args) {
  const auto bound = bind("raise_exception", args, {"message"}, 1);
  throw render_error(to_text(ctx, *bound[0]).bytes());
}

value strftime_now(context& ctx, const arguments& args) {
  const auto bound = bind("strftime_now", args, {"format"}, 1);
  const text& format = to_string_argument(*bound[0], "strftime_now's format");
  const std::time_t seconds = std::chrono::system_clock::to_time_t(ctx.now);
  std::tm local{};
  localtime_r(&seconds, &local);
  // strftime's result for "" and for an overflow is the same, hence the "x".
  const std::string marked = format.bytes() + 'x';
  ctx.charge_bytes(marked.size() * 64);
  std::string out(marked.size() * 64 + 64, '\0');
  const std::size_t n =
      std::strftime(out.data(), out.size(), marked.c_str(), &local);
  if (n == 0) throw render_error("strftime_now: the format is not usable");
  out.resize(n - 1);
  return value{text{out, format.trusted()}};
}

struct global_entry {
  std::string_view name;
  global_function function;
};

constexpr std::array globals{
    global_entry{"range", range},
    global_entry{"dict", make_dict_global},
    global_entry{"namespace", make_namespace_global},
    global_entry{"raise_exception", raise_exception},
    global_entry{"strftime_now", strftime_now},
};

}  // namespace

value find_global(std::string_view name) {
  for (const global_entry& g : globals) {
    if (g.name == name) {
      return value{callable_ptr{std::make_shared<global>(g.name, g.function)}};
    }
  }
  return {};
}

void check_namespace_name(std::string_view name) {
  if (name.empty() || name[0] != '_') return;
  throw render_error(
      "Chat templates cannot store underscore-prefixed attributes on a "
      "namespace, but got '" +
      std::string{name} + "'. Please rename the attribute.");
}

}  // namespace vouch::engine::jinja
