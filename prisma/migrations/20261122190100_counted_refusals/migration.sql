-- AlterTable
ALTER TABLE "dns_audit_entry" ADD COLUMN     "count" INTEGER NOT NULL DEFAULT 1,
ADD COLUMN     "minute" TIMESTAMPTZ(3),
ADD COLUMN     "refusal_code" TEXT;

ALTER TABLE "dns_audit_entry" ADD CONSTRAINT "dns_audit_entry_counted_is_unsent"
CHECK ("count" > 0 AND ("minute" IS NULL OR ("state" = 'unsent' AND "refusal_code" IS NOT NULL)));

-- One entry a minute for all writes that were refused alike: whoever counts, at whatever gateway, meets the others here.
CREATE UNIQUE INDEX "dns_audit_entry_counted" ON "dns_audit_entry"
("token_id", "zone_id", "name", "type", "operation", "refusal_code", "minute") NULLS NOT DISTINCT
WHERE "minute" IS NOT NULL;
