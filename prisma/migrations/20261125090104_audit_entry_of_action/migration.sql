-- For a filter of the audit log.
CREATE INDEX CONCURRENTLY "audit_entry_of_action" ON "audit_entry"("team_id", "action", "created_at", "id");
