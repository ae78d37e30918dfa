-- AlterTable
ALTER TABLE "audit_entry" ADD COLUMN     "changes" JSONB;

-- AlterTable
ALTER TABLE "dns_audit_entry" ADD COLUMN     "after_body" TEXT,
ADD COLUMN     "after_bytes" INTEGER,
ADD COLUMN     "after_sha256" BYTEA,
ADD COLUMN     "before_body" TEXT,
ADD COLUMN     "before_bytes" INTEGER,
ADD COLUMN     "before_sha256" BYTEA;

-- Entries with a body to cut, and no others. 16384 is the limit of the contracts.
DROP INDEX "dns_audit_entry_to_cut";
CREATE INDEX "dns_audit_entry_to_cut" ON "dns_audit_entry"("completed_at") WHERE "state" <> 'pending'
AND (octet_length("request_body") > 16384 OR octet_length("upstream_body") > 16384 OR octet_length("found_body") > 16384
     OR octet_length("before_body") > 16384 OR octet_length("after_body") > 16384);
