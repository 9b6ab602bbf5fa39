#include <algorithm>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/post.hpp>

#include "http/session.hpp"
#include "http/speculation.hpp"
#include "http/text.hpp"

// The answering side of a session.

namespace vouch::http {

namespace net = boost::asio;
using boost::system::error_code;

namespace {

// Larger bodies are parsed off the I/O threads.
constexpr std::size_t big_body = 64 << 10;

// Where a generation's events go. Members are destroyed from the last up: the
// executor before its context.
struct strand_sink {
  std::shared_ptr<net::io_context> io;
  net::any_io_executor executor;
  std::shared_ptr<const std::function<void(generation_event)>> deliver;

  void operator()(generation_event event) const {
    net::post(executor,
              [deliver = deliver, event = std::move(event)]() mutable {
                (*deliver)(std::move(event));
              });
  }
};

double seconds_since(session::clock::time_point begin) {
  return std::chrono::duration<double>(session::clock::now() - begin).count();
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Ids, seed and tenant, which are the server's to give.
void complete(generation_job& job, const std::string& id, int key) {
  std::uint64_t shared_seed = 0;
  const bool many = job.requests.size() > 1;
  if (many) shared_seed = std::stoull(random_hex(13), nullptr, 16);
  for (std::size_t i = 0; i < job.requests.size(); ++i) {
    auto& request = job.requests[i];
    request.id = many ? id + "-" + std::to_string(i) : id;
    // A key's holder cannot become many tenants by changing `user`.
    if (key >= 0) request.tenant = "key" + std::to_string(key);
    if (many && !request.has_seed) {
      request.has_seed = true;
      request.sampling.seed = shared_seed;
    }
  }
}

}  // namespace

void session::dispatch() {
  if (now_.target.answer) return respond(*now_.target.answer);
  auto body = std::move(parser_->get().body());
  const bool big = body.size() > big_body;
  auto work = [target = now_.target, body = std::move(body),
               this]() mutable -> outcome {
    return handle(target, std::move(body), *context_.model_side,
                  context_.settings);
  };
  if (big) {
    run_later(std::move(work));
  } else {
    take(work());
  }
}

void session::run_later(std::function<outcome()> work) {
  if (context_.queued_work.fetch_add(1) >= max_queued_work) {
    --context_.queued_work;
    return respond(error_reply(
        {503, "too many requests wait for a worker", {}, "queue_full"}));
  }
  net::post(
      context_.workers, [self = self(), work = std::move(work)]() mutable {
        auto result = work();
        --self->context_.queued_work;
        auto& session = *self;
        net::post(session.executor(), [self = std::move(self),
                                       result = std::move(result)]() mutable {
          if (!self->closed()) self->take(std::move(result));
        });
      });
}

void session::take(outcome result) {
  if (auto* response = std::get_if<reply>(&result)) {
    if (now_.target.route == route_id::metrics && response->status == 200)
      response->body += context_.responses.text();
    respond(*response);
  } else if (auto* work = std::get_if<deferred_reply>(&result)) {
    run_later([work = std::move(*work)]() -> outcome { return work(); });
  } else {
    start_generation(std::get<generation_start>(std::move(result)));
  }
}

void session::start_generation(generation_start start) {
  auto& job = start.job;
  const bool chat = job.kind == generation_kind::chat;
  answer_stamp stamp;
  stamp.id = (chat ? "chatcmpl-" : "cmpl-") + random_hex(24);
  stamp.created = unix_seconds();
  stamp.model = start.model->name;
  stamp.fingerprint = start.model->fingerprint;
  complete(job, stamp.id, now_.target.key);
  now_.streaming = job.stream;
  now_.generated.emplace(
      job, std::move(stamp),
      [side = context_.model_side.get()](engine::token_id token) {
        return side->token_bytes(token);
      });
  now_.generated->begin(receipt_of(context_.model_side->speculation()));
  const std::weak_ptr<session> weak = self();
  strand_sink sink{
      context_.io, executor(),
      std::make_shared<const std::function<void(generation_event)>>(
          [weak, number = now_.number](generation_event event) {
            if (const auto self = weak.lock())
              self->on_event(number, std::move(event));
          })};
  now_.running =
      context_.model_side->submit(std::move(job.requests), std::move(sink));
  watch();
}

void session::on_event(std::uint64_t number, generation_event event) {
  if (closed() || number != now_.number || now_.answered) return;
  if (std::holds_alternative<actors::tokens>(event) &&
      now_.record.first_token_seconds < 0)
    now_.record.first_token_seconds = seconds_since(now_.begin);
  auto& generated = *now_.generated;
  generated.apply(std::move(event));
  if (generated.error() && !now_.head_queued)
    return respond(error_reply(*generated.error()));
  if (now_.streaming) return write_later();
  if (!generated.done()) return;
  reply response;
  response.body = generated.body();
  response.headers.emplace_back("x-vouch-seed",
                                std::to_string(generated.seed()));
  response.headers.emplace_back("x-vouch-receipt",
                                header_value(generated.final_receipt()));
  respond(response);
}

// Behind the other sessions' events that wait already: where tokens come faster
// than they can be written, those of one session go out together.
void session::write_later() {
  if (std::exchange(now_.write_due, true)) return;
  net::post(executor(), [self = self(), number = now_.number] {
    if (number != self->now_.number || self->closed()) return;
    self->now_.write_due = false;
    if (!self->now_.answered) self->write_stream();
  });
}

void session::write_stream() {
  auto& generated = *now_.generated;
  if (!generated.started()) return;
  std::string bytes;
  if (!std::exchange(now_.head_queued, true)) {
    const auto at_start = receipt_of(context_.model_side->speculation());
    generated.begin(at_start);
    bytes = stream_head({{"x-vouch-seed", std::to_string(generated.seed())},
                         {"x-vouch-receipt", header_value(at_start)}},
                        now_.record.request_id, now_.how);
    if (now_.how.minor_version == 0) now_.how.keep_alive = false;
  }
  bytes += stream_piece(generated.take_stream(), now_.how);
  if (generated.done()) {
    bytes += stream_tail(now_.how);
    now_.answered = true;
    now_.running.reset();
    now_.record.status = generated.error() ? generated.error()->status() : 200;
  }
  const auto limit = static_cast<std::size_t>(
      context_.settings.server.max_pending_write_bytes);
  // Large events (a prompt's log-probabilities) are the request's own wish; the
  // reader's debt is what else waits.
  if (pending_bytes() > limit + now_.large_events && writing()) {
    return disconnect("slow_reader");
  }
  if (bytes.size() > limit / 2) now_.large_events += bytes.size();
  if (!bytes.empty()) queue(std::move(bytes));
}

void session::respond(const reply& response) {
  now_.answered = true;
  now_.running.reset();
  now_.record.status = response.status;
  if (context_.draining) now_.how.keep_alive = false;
  queue(framed(response, now_.record.request_id, now_.how));
}

void session::on_drained() {
  if (now_.answered) return finish();
  // The 100 Continue went out: the body may come. A probe goes out while a
  // generation runs.
  if (!now_.generated) do_read_body();
}

void session::finish() {
  log();
  now_.running.reset();
  if (now_.how.keep_alive && !context_.draining) {
    do_read();
  } else {
    now_.begin = {};
    close_gently();
  }
}

// A peer that sends, half-closes or resets makes the socket readable. Bytes
// stay where they are: they are the next request.
void session::watch() {
  if (std::exchange(watching_, true)) return;
  socket_.async_wait(net::socket_base::wait_read,
                     [self = self()](error_code ec) {
                       self->watching_ = false;
                       if (!ec) self->on_readable();
                     });
}

void session::on_readable() {
  if (closed() || !now_.running || now_.answered) return;
  now_.looks = 0;
  look();
}

// From the first sign on the state is polled: pipelined bytes or a half-close
// hide what follows them from the reactor.
void session::look() {
  if (closed() || !now_.running || now_.answered) return;
  const auto state = look_at_peer();
  if (state == peer_state::gone) return disconnect("peer_gone");
  if (state == peer_state::half_closed && !std::exchange(now_.probed, true)) {
    // A peer that closed for good answers any byte with a reset; one that
    // only half-closed skips an interim response or an SSE comment.
    if (now_.head_queued) {
      queue(stream_piece(":\n\n", now_.how));
    } else if (now_.how.minor_version > 0) {
      queue("HTTP/1.1 100 Continue\r\n\r\n");
    }
    if (closed()) return;
  }
  const int delay_ms = std::min(1 << std::min(now_.looks++, 5), 25);
  look_timer_.expires_after(std::chrono::milliseconds{delay_ms});
  look_timer_.async_wait([self = self(), number = now_.number](error_code ec) {
    if (!ec && number == self->now_.number) self->look();
  });
}

void session::on_write_failure(const char* why) { disconnect(why); }

void session::disconnect(const char* why) {
  if (now_.record.status == 0 || !now_.answered) now_.record.status = 499;
  now_.record.cut = why;
  now_.answered = true;
  log();
  now_.running.reset();
  now_.begin = {};
  look_timer_.cancel();
  close_hard();
}

void session::log() {
  if (now_.begin == clock::time_point{}) return;
  auto& record = now_.record;
  record.seconds = seconds_since(now_.begin);
  if (now_.generated) {
    record.prompt_tokens = now_.generated->prompt_tokens();
    record.completion_tokens = now_.generated->completion_tokens();
    record.cached_tokens = now_.generated->cached_tokens();
    record.drafted_tokens = now_.generated->drafted_tokens();
    record.accepted_tokens = now_.generated->accepted_tokens();
  }
  context_.responses.add(record.status);
  log_access(record);
}

}  // namespace vouch::http
