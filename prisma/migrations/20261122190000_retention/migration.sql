-- What the sweep over old rows looks for, so that it never reads a table as a whole.
CREATE INDEX "dns_audit_entry_created_at_idx" ON "dns_audit_entry"("created_at");
CREATE INDEX "audit_entry_created_at_idx" ON "audit_entry"("created_at");
CREATE INDEX "dns_action_started_at_idx" ON "dns_action"("started_at");
CREATE INDEX "operation_finished_at_idx" ON "operation"("finished_at");
CREATE INDEX "demo_released_at_idx" ON "demo"("released_at");

-- What Postgres looks for when a token or a demo goes: nothing may refer to it any more.
CREATE INDEX "dns_audit_entry_token_id_idx" ON "dns_audit_entry"("token_id");
CREATE INDEX "dns_action_of_demo" ON "dns_action"("demo_id") WHERE "demo_id" IS NOT NULL;
CREATE INDEX "dns_token_of_ended_demo" ON "dns_token"("revoked_at") WHERE "demo_id" IS NOT NULL;
