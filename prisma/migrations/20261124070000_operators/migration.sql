ALTER TABLE "team" ADD COLUMN "dns_records_max" INTEGER
CONSTRAINT "team_dns_records_max_is_count" CHECK ("dns_records_max" >= 0);

ALTER TABLE "audit_entry" ADD COLUMN "operator" TEXT
CONSTRAINT "audit_entry_operator_is_short" CHECK (length("operator") BETWEEN 1 AND 100);

-- Few entries are by operators, and those of all teams are read together.
CREATE INDEX "audit_entry_operator_idx" ON "audit_entry"("created_at") WHERE "operator" IS NOT NULL;

CREATE TABLE "operator_act" (
    "id" BIGSERIAL NOT NULL,
    "operator" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target_kind" TEXT NOT NULL,
    "target_name" TEXT NOT NULL,
    "detail" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "operator_act_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "operator_act_operator_is_short" CHECK (length("operator") BETWEEN 1 AND 100)
);

CREATE INDEX "operator_act_created_at_idx" ON "operator_act"("created_at");
