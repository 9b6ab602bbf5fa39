#pragma once

#include <string>

#include <gtest/gtest.h>

#include "http/error.hpp"
#include "http/schema.hpp"

namespace vouch::http {

inline runtime::model_info small_model() {
  runtime::model_info model;
  model.name = "tiny";
  model.vocab_size = 100;
  model.max_context = 256;
  model.has_chat_template = true;
  return model;
}

struct schema : testing::Test {
  runtime::config settings;
  runtime::model_info model = small_model();

  generation_job chat(const std::string& body) {
    return parse_chat(body, {settings, model});
  }
  // Fields beside a valid messages list.
  generation_job chat_with(const std::string& fields) {
    return chat(R"({"messages":[{"role":"user","content":"hi"}])" +
                (fields.empty() ? "" : "," + fields) + "}");
  }
  generation_job completion(const std::string& body) {
    return parse_completion(body, {settings, model});
  }
  generation_job completion_with(const std::string& fields) {
    return completion(R"({"prompt":"hi")" +
                      (fields.empty() ? "" : "," + fields) + "}");
  }
};

template <class Call>
api_error error_of(Call&& call) {
  try {
    call();
  } catch (const api_error& error) {
    return error;
  }
  return {200, "no error"};
}

}  // namespace vouch::http
