-- For a filter of the audit log.
CREATE INDEX CONCURRENTLY "dns_audit_entry_of_few_values" ON "dns_audit_entry"("team_id", "operation", "state", "type", "actor", "created_at", "id");
