#include "engine/schedule/fair_share.hpp"

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

TEST(FairShare, GivesEachTenantItsTokensWhateverItsRequestsCost) {
  fair_share shares;
  shares.join("big");
  shares.join("small");
  const std::map<std::string, std::int64_t> costs{{"big", 1000}, {"small", 10}};
  std::map<std::string, std::int64_t> served;
  for (int i = 0; i < 2000; ++i) {
    const auto tenant = shares.next(costs);
    shares.serve(tenant, costs);
    served[tenant] += costs.at(tenant);
  }
  const double share =
      static_cast<double>(served["big"]) / static_cast<double>(served["small"]);
  EXPECT_GT(share, 0.8);
  EXPECT_LT(share, 1.25);
}

TEST(FairShare, GeneratedTokensCount) {
  fair_share shares;
  shares.join("a");
  shares.join("b");
  const std::map<std::string, std::int64_t> costs{{"a", 100}, {"b", 100}};
  int a = 0;
  int b = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto tenant = shares.next(costs);
    shares.serve(tenant, costs);
    ++(tenant == "a" ? a : b);
    // a's requests generate 300 tokens each, b's none.
    if (tenant == "a") shares.charge("a", 300);
  }
  EXPECT_NEAR(static_cast<double>(b) / a, 4.0, 0.5);
}

TEST(FairShare, ForgetsTenantsWithoutWorkOrDebt) {
  fair_share shares;
  shares.join("a");
  shares.join("b");
  shares.leave("b");
  EXPECT_EQ(shares.tenants(), 1U);
  shares.join("c");
  shares.charge("c", 300);
  shares.leave("c");
  EXPECT_EQ(shares.tenants(), 2U);
  // c's debt is paid by the rounds that pass.
  for (int i = 0; i < 4; ++i) shares.serve("a", {{"a", 256}});
  EXPECT_EQ(shares.tenants(), 1U);
}

TEST(FairShare, RemembersTheLargestDebtsAndNoMoreThanItsBound) {
  fair_share shares;
  shares.join("stays");
  for (std::size_t i = 0; i < 3 * fair_share::max_debtors; ++i) {
    const auto tenant = std::to_string(i);
    shares.join(tenant);
    shares.charge(tenant, i == 7 ? 1000000 : 20);
    shares.leave(tenant);
    ASSERT_LE(shares.tenants(), fair_share::max_debtors + 1);
  }
  const auto before = shares.tenants();
  shares.join("7");  // it is there still
  EXPECT_EQ(shares.tenants(), before);
  EXPECT_EQ(shares.next({{"7", 1}, {"stays", 1}}), "stays");
}

}  // namespace
}  // namespace vouch::engine
