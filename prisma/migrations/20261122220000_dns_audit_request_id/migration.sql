-- AlterTable
ALTER TABLE "dns_audit_entry" ADD COLUMN     "request_id" TEXT;
