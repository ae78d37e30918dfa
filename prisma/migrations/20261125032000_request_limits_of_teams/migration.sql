ALTER TABLE "team"
ADD COLUMN "dns_requests_max" INTEGER,
ADD COLUMN "dns_token_requests_max" INTEGER,
ADD COLUMN "account_requests_max" INTEGER,
-- A bucket without capacity never fills.
ADD CONSTRAINT "team_request_limits_positive" CHECK (
  least("dns_requests_max", "dns_token_requests_max", "account_requests_max") > 0
);
