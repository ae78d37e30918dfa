-- For a filter of the audit log.
CREATE INDEX CONCURRENTLY "audit_entry_of_name" ON "audit_entry"("team_id", "target_name", "created_at", "id");
