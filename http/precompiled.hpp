#pragma once

// Precompiled for http/: what most of its files include and what is slow to
// read.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/json.hpp>
#include <caf/all.hpp>
#include <simdjson.h>
#include <spdlog/spdlog.h>
