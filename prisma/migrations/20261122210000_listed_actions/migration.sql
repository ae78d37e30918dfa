-- A team's actions are listed, the newest first.
CREATE INDEX "dns_action_of_owner" ON "dns_action"(coalesce("demo_id", "team_id"), "id" DESC);
