#pragma once

#include <cstdint>

namespace vouch::kernels {

/// Between which two atomic steps of the hand-over a thread stands. Tests stop
/// or delay threads there (tests/kernels/thread_pool_schedule_test.cpp).
enum class pool_step : std::uint8_t {
  fields_written,   ///< The caller wrote the job, no share of it is to be had.
  share_published,  ///< ... one more share is.
  job_published,    ///< ... and the workers can know.
  job_seen,         ///< A worker knows.
  share_loaded,     ///< A thread read what is unclaimed, and will try to claim.
  claimed,          ///< It has claimed, and will read the job's fields.
  loot_claimed,     ///< It has claimed others' indices, and will offer them on.
  ran,              ///< It has run an index, and will say so.
  parking,          ///< It said that it sleeps, and will look a last time.
};

/// How the library runs: nobody is stopped anywhere, and it costs nothing.
struct free_running {
  static void at(pool_step /*step*/, int /*thread*/) {}
};

}  // namespace vouch::kernels
