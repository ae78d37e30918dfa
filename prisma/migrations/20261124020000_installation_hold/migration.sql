-- AlterTable
ALTER TABLE "cluster" ADD COLUMN     "kept_generation" INTEGER;

-- CreateTable
CREATE TABLE "installation_hold" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "reason" TEXT NOT NULL,
    "backup_taken_at" TIMESTAMPTZ(3),
    "begun_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "installation_hold_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "hold_finding" (
    "hold_id" UUID NOT NULL,
    "target_kind" TEXT NOT NULL,
    "target_id" TEXT NOT NULL,
    "finding" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "found_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "hold_finding_pkey" PRIMARY KEY ("hold_id","target_kind","target_id")
);

-- AddForeignKey
ALTER TABLE "hold_finding" ADD CONSTRAINT "hold_finding_hold_id_fkey" FOREIGN KEY ("hold_id") REFERENCES "installation_hold"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- One hold is in force at a time.
CREATE UNIQUE INDEX "installation_hold_open" ON "installation_hold"((true)) WHERE "ended_at" IS NULL;
