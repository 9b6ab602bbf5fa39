#include "engine/tokenizer/normalizer.hpp"

#include <algorithm>
#include <utility>

#include "engine/text/utf8.hpp"
#include "engine/tokenizer/unicode.hpp"

namespace vouch::engine {

void traced_text::append(std::string_view bytes, const traced_text& source,
                         std::size_t at) {
  text += bytes;
  if (source.traced()) origin.resize(text.size(), source.origin[at]);
}

namespace {

class prepend_step final : public normalizer_step {
 public:
  explicit prepend_step(std::string prefix) : prefix_{std::move(prefix)} {}

  void apply(traced_text& text) const override {
    if (text.text.empty()) return;
    text.text.insert(0, prefix_);
    if (text.traced()) {
      const std::uint32_t first = text.origin.front();
      text.origin.insert(text.origin.begin(), prefix_.size(), first);
    }
  }

 private:
  std::string prefix_;
};

class replace_step final : public normalizer_step {
 public:
  replace_step(std::string from, std::string to)
      : from_{std::move(from)}, to_{std::move(to)} {}

  void apply(traced_text& text) const override {
    if (text.text.find(from_) == std::string::npos) return;
    traced_text out;
    std::size_t at = 0;
    while (at < text.text.size()) {
      const std::size_t hit = text.text.find(from_, at);
      const std::size_t end = std::min(hit, text.text.size());
      if (text.traced()) {
        out.origin.insert(
            out.origin.end(),
            text.origin.begin() + static_cast<std::ptrdiff_t>(at),
            text.origin.begin() + static_cast<std::ptrdiff_t>(end));
      }
      out.text.append(text.text, at, end - at);
      if (hit == std::string::npos) break;
      out.append(to_, text, hit);
      at = hit + from_.size();
    }
    text = std::move(out);
  }

 private:
  std::string from_;
  std::string to_;
};

class regex_replace_step final : public normalizer_step {
 public:
  regex_replace_step(regex from, std::string to)
      : from_{std::move(from)}, to_{std::move(to)} {}

  void apply(traced_text& text) const override {
    traced_text out;
    std::size_t at = 0;
    const auto copy_up_to = [&](std::size_t end) {
      for (; at < end; ++at) {
        out.append(std::string_view{text.text}.substr(at, 1), text, at);
      }
    };
    for (const regex::range& hit : from_.find_all(text.text)) {
      copy_up_to(hit.begin);
      if (hit.begin < text.text.size()) out.append(to_, text, hit.begin);
      at = hit.end;
    }
    copy_up_to(text.text.size());
    text = std::move(out);
  }

 private:
  regex from_;
  std::string to_;
};

class lowercase_step final : public normalizer_step {
 public:
  void apply(traced_text& text) const override {
    traced_text out;
    std::string lower;
    for (std::size_t at = 0, length = 0; at < text.text.size(); at += length) {
      const char32_t code = valid_utf8_at(text.text.data() + at, length);
      lower.clear();
      if (code == 0x130) {
        lower = "i\xCC\x87";
      } else {
        append_utf8(lower, unicode::to_lower(code));
      }
      out.append(lower, text, at);
    }
    text = std::move(out);
  }
};

class strip_step final : public normalizer_step {
 public:
  strip_step(bool left, bool right) : left_{left}, right_{right} {}

  void apply(traced_text& text) const override {
    std::size_t begin = text.text.size();
    std::size_t end = 0;
    for (std::size_t at = 0, length = 0; at < text.text.size(); at += length) {
      const char32_t code = valid_utf8_at(text.text.data() + at, length);
      if (unicode::class_of(code) == char_class::space) continue;
      begin = std::min(begin, at);
      end = at + length;
    }
    if (!left_) begin = 0;
    if (!right_) end = text.text.size();
    end = std::max(begin, end);
    if (text.traced()) {
      text.origin.assign(
          text.origin.begin() + static_cast<std::ptrdiff_t>(begin),
          text.origin.begin() + static_cast<std::ptrdiff_t>(end));
    }
    text.text = text.text.substr(begin, end - begin);
  }

 private:
  bool left_;
  bool right_;
};

}  // namespace

std::unique_ptr<normalizer_step> make_prepend(std::string prefix) {
  return std::make_unique<prepend_step>(std::move(prefix));
}

std::unique_ptr<normalizer_step> make_replace(std::string from,
                                              std::string to) {
  return std::make_unique<replace_step>(std::move(from), std::move(to));
}

std::unique_ptr<normalizer_step> make_replace(regex from, std::string to) {
  return std::make_unique<regex_replace_step>(std::move(from), std::move(to));
}

std::unique_ptr<normalizer_step> make_lowercase() {
  return std::make_unique<lowercase_step>();
}

std::unique_ptr<normalizer_step> make_strip(bool left, bool right) {
  return std::make_unique<strip_step>(left, right);
}

void normalize(const normalizer_steps& steps, bool unicode_forms,
               traced_text& text) {
  for (const auto& step : steps) {
    if (unicode_forms || !step->unicode_form()) step->apply(text);
  }
}

}  // namespace vouch::engine
