-- Room that a write frees is free once its action has succeeded.
ALTER TABLE "dns_audit_entry" ADD COLUMN     "records_ceiling" INTEGER;

CREATE INDEX "dns_audit_entry_holding_of_owner" ON "dns_audit_entry"(coalesce("demo_id", "team_id"))
WHERE "records_ceiling" IS NOT NULL;

-- Those whose end nobody has asked for are looked up, the newest first.
CREATE INDEX "dns_action_unfinished" ON "dns_action"("started_at" DESC, "id" DESC) WHERE "status" = 'running';

-- Whose turn it is to ask for them is a row of its own beside that of the actions that clients wait for.
ALTER TABLE "dns_action_poll" DROP CONSTRAINT "dns_action_poll_is_one_row";
ALTER TABLE "dns_action_poll" ADD CONSTRAINT "dns_action_poll_is_known" CHECK ("id" IN (1, 2));
