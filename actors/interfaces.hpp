#pragma once

#include <caf/all.hpp>

#include "actors/messages.hpp"

// The map of the program: every typed handle, and what each message asks for.
// (Completed by the actors layer; client_actor is what the outside sees.)

CAF_BEGIN_TYPE_ID_BLOCK(vouch, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(vouch, (vouch::actors::started))
CAF_ADD_TYPE_ID(vouch, (vouch::actors::tokens))
CAF_ADD_TYPE_ID(vouch, (vouch::actors::finished))
CAF_ADD_TYPE_ID(vouch, (vouch::actors::failed))
CAF_ADD_TYPE_ID(vouch, (vouch::actors::generation_request))
CAF_END_TYPE_ID_BLOCK(vouch)

namespace vouch::actors {

/// Whoever waits for a request: an HTTP session, an embedder's actor.
using client_actor = caf::typed_actor<
    // The request was admitted; once, before any tokens.
    caf::reacts_to<started>,
    // A choice advanced.
    caf::reacts_to<tokens>,
    // Every choice ended; nothing follows.
    caf::reacts_to<finished>,
    // The request ended without a result; nothing follows.
    caf::reacts_to<failed>>;

}  // namespace vouch::actors
