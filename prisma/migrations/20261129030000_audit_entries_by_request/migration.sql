-- CreateIndex
CREATE INDEX CONCURRENTLY "audit_entry_of_request" ON "audit_entry"("team_id", "request_id", "created_at", "id");
