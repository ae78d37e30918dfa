CREATE TABLE "garden_cleanup" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID,
    "namespace" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "garden_cleanup_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "garden_cleanup_team_id_idx" ON "garden_cleanup"("team_id");
CREATE INDEX "garden_cleanup_due_at_idx" ON "garden_cleanup"("due_at");
ALTER TABLE "garden_cleanup" ADD CONSTRAINT "garden_cleanup_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE SET NULL ON UPDATE CASCADE;
