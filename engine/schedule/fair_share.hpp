#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace vouch::engine {

/// Deficit round robin between tenants, weighted by tokens (Shreedhar and
/// Varghese, 1995): each round every tenant that waits is granted a quantum of
/// tokens, and the tenant whose turn it is starts a request once its grants
/// cover the request's prompt. Generated tokens are not known beforehand, so
/// they are charged as they come; a tenant can be in debt and then waits for
/// more rounds.
class fair_share {
 public:
  static constexpr std::int64_t quantum = 256;
  /// Tenants without work whose debts are remembered. Beyond these, the
  /// smaller half of the debts is forgiven.
  static constexpr std::size_t max_debtors = 4096;

  void join(const std::string& tenant);
  void leave(const std::string& tenant);
  /// Charges tokens that were computed for a tenant outside of a turn.
  void charge(const std::string& tenant, std::int64_t tokens);

  /// Whose turn it is, given the cost of each waiting tenant's next request.
  /// Changes nothing.
  std::string next(const std::map<std::string, std::int64_t>& costs) const;
  /// The tenant's request of that cost starts: grants the rounds it took.
  void serve(const std::string& tenant,
             const std::map<std::string, std::int64_t>& costs);

  /// Forgives every debt and takes every saving: the order is not fair (any
  /// more).
  void reset();

  std::size_t tenants() const { return accounts_.size(); }

 private:
  struct account {
    /// Place in the ring.
    std::uint64_t place = 0;
    std::int64_t deficit = 0;
    /// Sequences that wait or run.
    std::int64_t live = 0;
  };

  std::int64_t rounds(const account& a, std::int64_t cost) const;
  void forgive_small_debts();

  std::map<std::string, account> accounts_;
  /// Accounts without live sequences.
  std::size_t debtors_ = 0;
  std::uint64_t places_ = 0;
  /// The ring's turn: the place of the tenant served last.
  std::uint64_t turn_ = 0;
};

}  // namespace vouch::engine
