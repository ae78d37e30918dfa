-- CreateIndex
CREATE INDEX CONCURRENTLY "dns_audit_entry_of_request" ON "dns_audit_entry"("team_id", "request_id", "created_at", "id");
