#include <array>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/filters.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"

namespace vouch::engine::jinja {
namespace {

template <bool (*Predicate)(const value&)>
bool plain(context&, const value& v, const arguments& args) {
  bind("test", args, {});
  return Predicate(v);
}

bool defined(const value& v) { return !v.is_undefined(); }
bool undefined(const value& v) { return v.is_undefined(); }
bool none(const value& v) { return v.is_none(); }
bool boolean(const value& v) { return v.is_bool(); }
bool is_true(const value& v) { return v.is_bool() && v.as_bool(); }
bool is_false(const value& v) { return v.is_bool() && !v.as_bool(); }
bool string(const value& v) { return v.is_string(); }
bool number(const value& v) { return v.is_number(); }
bool integer(const value& v) { return v.is_int(); }
bool floating(const value& v) { return v.is_float(); }
bool mapping(const value& v) { return v.is_dict(); }
bool is_callable(const value& v) {
  // Undefined has a __call__, though it only raises.
  return v.is_callable() || v.is_loop() || v.is_undefined();
}
bool escaped(const value& v) { return v.is_string() && v.as_text().markup; }

bool iterable(const value& v) {
  return v.is_undefined() || v.is_string() || v.is_sequence() || v.is_dict() ||
         v.is_loop();
}

bool sequence_test(const value& v) {
  if (v.is_sequence()) {
    const sequence_type type = v.as_sequence().type;
    return type == sequence_type::list || type == sequence_type::tuple ||
           type == sequence_type::range;
  }
  return v.is_undefined() || v.is_string() || v.is_dict();
}

template <compare_op Op>
bool compares(context& ctx, const value& v, const arguments& args) {
  const auto bound = bind("comparison", args, {"other"}, 1);
  return compare(ctx, Op, v, *bound[0]);
}

bool same_as(context&, const value& v, const arguments& args) {
  return v.same_as(*bind("sameas", args, {"other"}, 1)[0]);
}

template <int Remainder>
bool parity(context& ctx, const value& v, const arguments& args) {
  bind("parity test", args, {});
  return equal(ctx, binary(ctx, binary_op::mod, v, value{std::int64_t{2}}),
               value{std::int64_t{Remainder}});
}

bool divisible_by(context& ctx, const value& v, const arguments& args) {
  const auto bound = bind("divisibleby", args, {"num"}, 1);
  return equal(ctx, binary(ctx, binary_op::mod, v, *bound[0]),
               value{std::int64_t{0}});
}

template <bool Upper>
bool has_case(context& ctx, const value& v, const arguments& args) {
  const value s{to_text(ctx, v)};
  return find_string_method(Upper ? "isupper" : "islower")(ctx, s, args)
      .as_bool();
}

bool is_filter(context&, const value& v, const arguments&) {
  return v.is_string() && find_filter(v.bytes());
}

bool is_test(context&, const value& v, const arguments&) {
  return v.is_string() && find_test(v.bytes());
}

struct test_entry {
  std::string_view name;
  test_function function;
};

constexpr std::array all_tests{
    test_entry{"defined", plain<defined>},
    test_entry{"undefined", plain<undefined>},
    test_entry{"none", plain<none>},
    test_entry{"boolean", plain<boolean>},
    test_entry{"true", plain<is_true>},
    test_entry{"false", plain<is_false>},
    test_entry{"string", plain<string>},
    test_entry{"number", plain<number>},
    test_entry{"integer", plain<integer>},
    test_entry{"float", plain<floating>},
    test_entry{"mapping", plain<mapping>},
    test_entry{"iterable", plain<iterable>},
    test_entry{"sequence", plain<sequence_test>},
    test_entry{"callable", plain<is_callable>},
    test_entry{"escaped", plain<escaped>},
    test_entry{"eq", compares<compare_op::eq>},
    test_entry{"equalto", compares<compare_op::eq>},
    test_entry{"==", compares<compare_op::eq>},
    test_entry{"ne", compares<compare_op::ne>},
    test_entry{"!=", compares<compare_op::ne>},
    test_entry{"lt", compares<compare_op::lt>},
    test_entry{"lessthan", compares<compare_op::lt>},
    test_entry{"<", compares<compare_op::lt>},
    test_entry{"le", compares<compare_op::le>},
    test_entry{"<=", compares<compare_op::le>},
    test_entry{"gt", compares<compare_op::gt>},
    test_entry{"greaterthan", compares<compare_op::gt>},
    test_entry{">", compares<compare_op::gt>},
    test_entry{"ge", compares<compare_op::ge>},
    test_entry{">=", compares<compare_op::ge>},
    test_entry{"in", compares<compare_op::in>},
    test_entry{"sameas", same_as},
    test_entry{"odd", parity<1>},
    test_entry{"even", parity<0>},
    test_entry{"divisibleby", divisible_by},
    test_entry{"upper", has_case<true>},
    test_entry{"lower", has_case<false>},
    test_entry{"filter", is_filter},
    test_entry{"test", is_test},
};

}  // namespace

test_function find_test(std::string_view name) {
  for (const test_entry& t : all_tests) {
    if (t.name == name) return t.function;
  }
  return nullptr;
}

}  // namespace vouch::engine::jinja
