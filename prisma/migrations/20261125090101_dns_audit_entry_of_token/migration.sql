-- For a filter of the audit log.
CREATE INDEX CONCURRENTLY "dns_audit_entry_of_token" ON "dns_audit_entry"("team_id", "token_id", "created_at", "id");
