-- For a filter of the audit log.
CREATE INDEX CONCURRENTLY "audit_entry_of_actor" ON "audit_entry"("team_id", (CASE WHEN "user_id" IS NOT NULL THEN 'user' WHEN "account" IS NOT NULL THEN 'account'
  WHEN "operator" IS NOT NULL THEN 'operator' ELSE 'service' END), "created_at", "id");
