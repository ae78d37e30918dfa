-- For a filter of the audit log.
CREATE INDEX CONCURRENTLY "audit_entry_of_user" ON "audit_entry"("team_id", "user_id", "created_at", "id");
