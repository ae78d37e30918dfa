-- The newest actions in a state, however rare it is.
CREATE INDEX CONCURRENTLY "dns_action_of_status" ON "dns_action"(coalesce("demo_id", "team_id"), "status", "id" DESC);
