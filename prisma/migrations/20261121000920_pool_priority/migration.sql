-- AlterTable
ALTER TABLE "node_pool" ADD COLUMN     "autoscaler_priority" INTEGER NOT NULL DEFAULT 0;

UPDATE "node_pool" SET "autoscaler_priority" = 100 WHERE "source" <> 'managed';
