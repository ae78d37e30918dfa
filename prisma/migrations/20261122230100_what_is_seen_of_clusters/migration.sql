-- AlterTable
ALTER TABLE "cluster" ADD COLUMN     "observed" JSONB;
