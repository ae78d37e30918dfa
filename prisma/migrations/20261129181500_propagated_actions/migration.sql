-- AlterTable
ALTER TABLE "dns_action" ADD COLUMN     "propagated_at" TIMESTAMPTZ(3);
