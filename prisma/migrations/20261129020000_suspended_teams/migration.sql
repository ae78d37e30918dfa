-- AlterTable
ALTER TABLE "team" ADD COLUMN     "suspended_at" TIMESTAMPTZ(3);
