#pragma once

#include <boost/json.hpp>

#include "actors/board.hpp"
#include "http/receipt.hpp"

namespace vouch::http {

/// The answer of GET /speculation.
boost::json::object speculation_object(const actors::speculation_view& view);

/// What stands behind an answer that begins now.
receipt receipt_of(const actors::speculation_view& view);

}  // namespace vouch::http
