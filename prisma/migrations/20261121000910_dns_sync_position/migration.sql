-- AlterTable
ALTER TABLE "dns_sync_run" ADD COLUMN     "fence" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "listed_total" INTEGER,
ADD COLUMN     "next_page" INTEGER DEFAULT 1,
ADD COLUMN     "progressed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- CreateTable
CREATE TABLE "dns_sync_seen" (
    "run_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,

    CONSTRAINT "dns_sync_seen_pkey" PRIMARY KEY ("run_id","name","type")
);

-- AddForeignKey
ALTER TABLE "dns_sync_seen" ADD CONSTRAINT "dns_sync_seen_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "dns_sync_run"("id") ON DELETE CASCADE ON UPDATE CASCADE;
