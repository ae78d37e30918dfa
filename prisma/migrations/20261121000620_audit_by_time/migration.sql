-- Both logs are read as one, newest first: what they have in common is the time.
CREATE INDEX "dns_audit_entry_team_id_created_at_id_idx" ON "dns_audit_entry"("team_id", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_entry_team_id_created_at_id_idx" ON "audit_entry"("team_id", "created_at" DESC, "id" DESC);
DROP INDEX "audit_entry_team_id_id_idx";
