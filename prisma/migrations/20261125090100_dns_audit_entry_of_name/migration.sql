-- For a filter of the audit log.
CREATE INDEX CONCURRENTLY "dns_audit_entry_of_name" ON "dns_audit_entry"("team_id", "name", "created_at", "id");
