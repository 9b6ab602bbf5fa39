#include "engine/config/toml_reader.hpp"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include <toml++/toml.h>

#include "engine/error.hpp"
#include "engine/file_text.hpp"

namespace vouch::engine {
namespace {

/// Configuration is written by hand; a larger file is a mistake.
constexpr std::size_t max_file_bytes = 1 << 20;

/// "a.b.c" without its last part, and the last part.
std::pair<std::string, std::string> split_last(const std::string& key) {
  const auto dot = key.rfind('.');
  if (dot == std::string::npos) return {"", key};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

const char* type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

template <class T>
std::string range(T min, T max) {
  std::ostringstream out;
  out << "between " << min << " and " << max;
  return out.str();
}

}  // namespace

struct toml_reader::impl {
  std::string name;
  toml::table root;
  /// Dotted keys that getters asked for.
  std::set<std::string> known;
  std::map<std::string, std::string> origins;

  const toml::node* find(std::string_view key) const {
    const toml::table* table = &root;
    for (;;) {
      const auto dot = key.find('.');
      const toml::node* node = table->get(key.substr(0, dot));
      if (node == nullptr || dot == std::string_view::npos) return node;
      table = node->as_table();
      if (table == nullptr) return nullptr;
      key.remove_prefix(dot + 1);
    }
  }

  std::string where(const toml::node& node) const {
    return name + ":" + std::to_string(node.source().begin.line);
  }

  [[noreturn]] void fail(const toml::node& node, std::string_view key,
                         const std::string& why) const {
    throw input_error{where(node), std::string{key} + ": " + why};
  }

  /// Records that the key is known and, when it is there, where it stands.
  const toml::node* ask(std::string_view key) {
    known.emplace(key);
    const toml::node* node = find(key);
    if (node != nullptr) origins[std::string{key}] = where(*node);
    return node;
  }

  struct stray {
    std::uint32_t line = 0;
    std::string key;
    std::string why;
  };

  /// The first key in `table`, by line, that is not known.
  void find_stray(const toml::table& table, const std::string& prefix,
                  std::vector<stray>& found) const {
    for (const auto& [key, node] : table) {
      const std::string full = prefix + std::string{key.str()};
      if (known.count(full) > 0) continue;
      const auto inside = known.lower_bound(full + ".");
      const bool is_table =
          inside != known.end() && inside->rfind(full + ".", 0) == 0;
      const auto line = key.source().begin.line;
      if (!is_table) {
        found.push_back({line, full, unknown(full)});
      } else if (const toml::table* child = node.as_table()) {
        find_stray(*child, full + ".", found);
      } else {
        found.push_back({line, full, "must be a table"});
      }
    }
  }

  std::string unknown(const std::string& full) const {
    const auto [table, last] = split_last(full);
    std::vector<std::string> beside;
    std::vector<std::string> elsewhere;
    for (const auto& key : known) {
      const auto [in, word] = split_last(key);
      if (in == table) beside.push_back(word);
      if (word == last) elsewhere.push_back(key);
      // Tables are words at their level, too.
      for (auto up = in; !up.empty(); up = split_last(up).first) {
        const auto [above, name_of_table] = split_last(up);
        if (above == table) beside.push_back(name_of_table);
      }
    }
    std::string text = "unknown key";
    if (const auto near = nearest_word(last, beside); !near.empty()) {
      text += ", did you mean '" + near + "'?";
    } else if (!elsewhere.empty()) {
      text += ", did you mean '" + elsewhere.front() + "'?";
    }
    return text;
  }
};

toml_reader::toml_reader(std::unique_ptr<impl> state)
    : impl_{std::move(state)} {}
toml_reader::~toml_reader() = default;
toml_reader::toml_reader(toml_reader&&) noexcept = default;
toml_reader& toml_reader::operator=(toml_reader&&) noexcept = default;

toml_reader toml_reader::from_file(const std::filesystem::path& file) {
  return from_text(read_file_text(file, max_file_bytes), file.string());
}

namespace {

/// toml++ bounds how deep values nest, but not how many parts a dotted key
/// has, and every part is a level of its recursion.
void refuse_long_keys(std::string_view toml, const std::string& name) {
  constexpr int most = 64;
  int line = 1;
  int dots = 0;
  bool blank = true;
  bool comment = false;
  for (const char c : toml) {
    if (c == '\n') {
      ++line;
      dots = 0;
      blank = true;
      comment = false;
    } else if (c != ' ' && c != '\t') {
      comment = comment || (blank && c == '#');
      blank = false;
      if (c == '.' && !comment && ++dots > most) {
        throw input_error{name + ":" + std::to_string(line),
                          "has more than 64 dots: no key is that deep"};
      }
    }
  }
}

}  // namespace

toml_reader toml_reader::from_text(std::string_view toml, std::string name) {
  auto state = std::make_unique<impl>();
  state->name = std::move(name);
  refuse_long_keys(toml, state->name);
  try {
    state->root = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    throw input_error{
        state->name + ":" + std::to_string(error.source().begin.line),
        std::string{error.description()}};
  }
  return toml_reader{std::move(state)};
}

bool toml_reader::boolean(std::string_view key, bool& value) {
  const toml::node* node = impl_->ask(key);
  if (node == nullptr) return false;
  const auto read = node->value_exact<bool>();
  if (!read) {
    impl_->fail(*node, key,
                std::string{"must be true or false, not "} + type_name(*node));
  }
  value = *read;
  return true;
}

bool toml_reader::integer(std::string_view key, std::int64_t& value,
                          std::int64_t min, std::int64_t max) {
  const toml::node* node = impl_->ask(key);
  if (node == nullptr) return false;
  const auto read = node->value_exact<std::int64_t>();
  if (!read) {
    impl_->fail(*node, key,
                std::string{"must be an integer, not "} + type_name(*node));
  }
  if (*read < min || *read > max) {
    impl_->fail(*node, key,
                std::to_string(*read) + " is not " + range(min, max));
  }
  value = *read;
  return true;
}

bool toml_reader::integer(std::string_view key, std::int32_t& value,
                          std::int32_t min, std::int32_t max) {
  std::int64_t wide = 0;
  if (!integer(key, wide, std::int64_t{min}, std::int64_t{max})) return false;
  value = static_cast<std::int32_t>(wide);
  return true;
}

bool toml_reader::number(std::string_view key, double& value, double min,
                         double max) {
  const toml::node* node = impl_->ask(key);
  if (node == nullptr) return false;
  if (!node->is_number()) {
    impl_->fail(*node, key,
                std::string{"must be a number, not "} + type_name(*node));
  }
  const double read = node->value<double>().value_or(0.0);
  if (!(read >= min && read <= max)) {
    std::ostringstream out;
    out << read << " is not " << range(min, max);
    impl_->fail(*node, key, out.str());
  }
  value = read;
  return true;
}

bool toml_reader::string(std::string_view key, std::string& value) {
  const toml::node* node = impl_->ask(key);
  if (node == nullptr) return false;
  const auto read = node->value_exact<std::string>();
  if (!read) {
    impl_->fail(*node, key,
                std::string{"must be a string, not "} + type_name(*node));
  }
  value = *read;
  return true;
}

bool toml_reader::strings(std::string_view key,
                          std::vector<std::string>& values) {
  const toml::node* node = impl_->ask(key);
  if (node == nullptr) return false;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    impl_->fail(
        *node, key,
        std::string{"must be an array of strings, not "} + type_name(*node));
  }
  std::vector<std::string> read;
  for (const toml::node& element : *array) {
    const auto text = element.value_exact<std::string>();
    if (!text) {
      impl_->fail(
          element, key,
          std::string{"must hold strings only, not "} + type_name(element));
    }
    read.push_back(*text);
  }
  values = std::move(read);
  return true;
}

void toml_reader::refuse(std::string_view key, std::string_view why) {
  const toml::node* node = impl_->find(key);
  if (node == nullptr) return;
  // A table is refused by its first key: that is what the reader wrote.
  if (const toml::table* table = node->as_table();
      table != nullptr && !table->empty()) {
    for (const auto& [name, first] : *table) {
      impl_->fail(first, std::string{key} + "." + std::string{name.str()},
                  std::string{why});
    }
  }
  impl_->fail(*node, key, std::string{why});
}

bool toml_reader::has(std::string_view key) const {
  return impl_->find(key) != nullptr;
}

void toml_reader::fail(std::string_view key, std::string_view why) const {
  if (const toml::node* node = impl_->find(key)) {
    impl_->fail(*node, key, std::string{why});
  }
  throw input_error{impl_->name, std::string{key} + ": " + std::string{why}};
}

void toml_reader::fail_word(std::string_view key, const std::string& word,
                            const std::vector<std::string>& known) const {
  std::string text = "'" + word + "' is not one of ";
  for (std::size_t i = 0; i < known.size(); ++i) {
    text += (i > 0 ? ", " : "") + known[i];
  }
  if (const auto near = nearest_word(word, known); !near.empty()) {
    text += "; did you mean '" + near + "'?";
  }
  fail(key, text);
}

void toml_reader::finish() const {
  std::vector<impl::stray> found;
  impl_->find_stray(impl_->root, "", found);
  const impl::stray* first = nullptr;
  for (const auto& stray : found) {
    if (first == nullptr || stray.line < first->line) first = &stray;
  }
  if (first == nullptr) return;
  throw input_error{impl_->name + ":" + std::to_string(first->line),
                    first->key + ": " + first->why};
}

const std::map<std::string, std::string>& toml_reader::origins() const {
  return impl_->origins;
}

const std::string& toml_reader::name() const { return impl_->name; }

}  // namespace vouch::engine
