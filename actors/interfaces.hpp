#pragma once

#include <caf/all.hpp>

#include "actors/messages.hpp"
#include "actors/speculation_messages.hpp"

// The map of the program: every typed handle, and what each message asks for.
//
//   client -> SUPERVISOR -> REQUEST -> SCHEDULER -> ENGINE
//                                      SCHEDULER -> DRAFTER -> ENGINE
//                                      SCHEDULER -> GATE
//
// Strong handles point along these arrows only. What flows the other way goes
// to the sender of a message or to a weak handle, so that no two actors keep
// each other alive.

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

/// Runtime to SUPERVISOR: a request and who waits for it.
struct incoming {
  generation_request request;
  client_actor client;
};

}  // namespace vouch::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::incoming)

CAF_BEGIN_TYPE_ID_BLOCK(vouch, caf::first_custom_type_id)
CAF_ADD_ATOM(vouch, vouch::actors, reserve_atom, "reserve")
CAF_ADD_ATOM(vouch, vouch::actors, abort_atom, "abort")
CAF_ADD_ATOM(vouch, vouch::actors, cancel_atom, "cancel")
CAF_ADD_ATOM(vouch, vouch::actors, drain_atom, "drain")
CAF_ADD_ATOM(vouch, vouch::actors, load_atom, "load")
CAF_ADD_ATOM(vouch, vouch::actors, stop_atom, "stop")
CAF_ADD_ATOM(vouch, vouch::actors, tick_atom, "tick")
CAF_ADD_ATOM(vouch, vouch::actors, pause_atom, "pause")
CAF_ADD_ATOM(vouch, vouch::actors, owed_atom, "owed")
CAF_ADD_ATOM(vouch, vouch::actors, recall_atom, "recall")
CAF_ADD_ATOM(vouch, vouch::actors, start_atom, "start")
CAF_END_TYPE_ID_BLOCK(vouch)

namespace vouch::actors {

/// ENGINE owns the executor. Detached: opening slots and handing over a step
/// may block on a device.
using engine_actor = caf::typed_actor<
    // Runs a step after the slots it needs were released, opened and told
    // their history; its step_result goes to the sender.
    caf::reacts_to<engine::scheduler::planned_step>,
    // Drafts for these slots, behind the steps before it; its draft_result goes
    // to the sender.
    caf::reacts_to<engine::draft_batch>,
    // Runs a unit of the gate's, behind the steps before it; its result goes to
    // the gate that the message names.
    caf::reacts_to<gate_work>>;

/// DRAFTER owns what drafts, and its own view of every sequence's tokens.
/// Detached: SCHEDULER's mailbox is not held up by it.
using drafter_actor = caf::typed_actor<
    // Drafts for these sequences; `drafts` go to the sender.
    caf::reacts_to<draft_order>,
    // ENGINE has drafted.
    caf::reacts_to<engine::draft_result>>;

/// GATE owns the verdicts: probe, audit, trips. It works through SCHEDULER,
/// which lends it memory and passes its units on to ENGINE when there is time.
using gate_actor = caf::typed_actor<
    // The sender is the SCHEDULER to work through.
    caf::reacts_to<start_atom>,
    // The memory that was asked for.
    caf::reacts_to<engine::loan>,
    // Others need the memory: it goes back after at most one more unit.
    caf::reacts_to<recall_atom>,
    // ENGINE has run the unit.
    caf::reacts_to<engine::gate_unit_result>,
    // What was served meanwhile, and what of it is to be audited.
    caf::reacts_to<served_report>>;

/// SUPERVISOR to SCHEDULER.
struct new_drafter {
  drafter_actor drafter;
};
struct new_gate {
  gate_actor gate;
};

}  // namespace vouch::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::new_drafter)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::new_gate)

namespace vouch::actors {

/// SCHEDULER owns the sequences and decides what each step carries. Detached:
/// nothing that is slow elsewhere may delay a step.
using scheduler_actor = caf::typed_actor<
    // May one more request be prepared? Counts as queued until its submission
    // comes or its sender dies.
    caf::replies_to<reserve_atom>::with<admission>,
    // Queues all choices of a prompt, or none; progress goes to the sender,
    // whose death aborts them.
    caf::replies_to<submission>::with<admission>,
    // Ends one sequence; no progress follows for it.
    caf::reacts_to<abort_atom, engine::sequence_id>,
    // The oldest step in flight ended.
    caf::reacts_to<engine::step_result>,
    // A drafter to ask from now on, after the one before has died.
    caf::reacts_to<new_drafter>,
    // DRAFTER's answer to an order: the next step can be planned.
    caf::reacts_to<drafts>,
    // A gate to work with from now on, after the one before has died; or none,
    // because that one is about to.
    caf::reacts_to<new_gate>,
    // What the gate vouches for from the next plan on.
    caf::reacts_to<engine::gate_view>,
    // A verdict is being tripped: no step is planned until gate_trip comes.
    caf::reacts_to<pause_atom>,
    // What it is now; caches are emptied, rows computed again.
    caf::reacts_to<gate_trip>,
    // The gate wants memory, gives it back, is done with drawn items.
    caf::reacts_to<loan_request>, caf::reacts_to<engine::loan>,
    caf::reacts_to<audits_done>,
    // A unit to run in an idle moment, or (owed) next; and that the unit which
    // waits is owed now.
    caf::reacts_to<gate_order>, caf::reacts_to<owed_atom>,
    // What a unit's step cost, for whoever weighs rows.
    caf::reacts_to<step_cost>,
    // Replaces the policy before the next plan.
    caf::reacts_to<policy_change>,
    // Time passed: expire what waited too long, judge the running step's age.
    caf::reacts_to<tick_atom>>;

/// REQUEST, one a request, owns its text side and sends its client exactly one
/// terminal event.
using request_actor = caf::typed_actor<
    // Choices advanced or ended.
    caf::reacts_to<progress>,
    // Give up: the client receives failed{cancelled}.
    caf::reacts_to<cancel_atom>>;

/// LOADER reads the model. Detached: it blocks on files for seconds.
using loader_actor = caf::typed_actor<
    // Loads what is not loaded yet and makes an executor; its load_result goes
    // to the sender.
    caf::reacts_to<load_atom>>;

/// SUPERVISOR owns the other actors: start order, restarts, drain and exit.
using supervisor_actor = caf::typed_actor<
    // Starts a REQUEST, or tells the client why not.
    caf::reacts_to<incoming>,
    // Cancels the requests of this id.
    caf::reacts_to<cancel_atom, std::string>,
    // Refuses new requests; true once the running ones have ended, false when
    // they had to be cancelled after so many milliseconds.
    caf::replies_to<drain_atom, std::int64_t>::with<bool>,
    // Replaces the policy, now and for restarts.
    caf::reacts_to<policy_change>,
    // Starts (or, after a fault, starts again) LOADER.
    caf::reacts_to<load_atom>,
    // LOADER has ended.
    caf::reacts_to<load_result>,
    // Drain number n has reached its deadline.
    caf::reacts_to<tick_atom, std::uint64_t>,
    // Cancels every request, then ends SCHEDULER, ENGINE and itself, in this
    // order, each after the one before has gone.
    caf::reacts_to<stop_atom>>;

}  // namespace vouch::actors
