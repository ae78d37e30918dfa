-- AlterTable
ALTER TABLE "cluster" ADD COLUMN     "asleep_by_schedule" BOOLEAN;
