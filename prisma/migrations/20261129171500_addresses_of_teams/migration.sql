-- CreateTable
CREATE TABLE "team_address" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "cluster_id" UUID,
    "server_id" UUID,
    "owner_name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "pool" TEXT,
    "address" TEXT NOT NULL,
    "first_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "gone_at" TIMESTAMPTZ(3),

    CONSTRAINT "team_address_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "team_address_cluster_id_address_key" ON "team_address"("cluster_id", "address");

-- CreateIndex
CREATE UNIQUE INDEX "team_address_server_id_address_key" ON "team_address"("server_id", "address");

-- CreateIndex
CREATE INDEX "team_address_team_id_address_idx" ON "team_address"("team_id", "address");

-- CreateIndex
CREATE INDEX "team_address_gone_at_idx" ON "team_address"("gone_at");

-- AddForeignKey
ALTER TABLE "team_address" ADD CONSTRAINT "team_address_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team_address" ADD CONSTRAINT "team_address_cluster_id_fkey" FOREIGN KEY ("cluster_id") REFERENCES "cluster"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team_address" ADD CONSTRAINT "team_address_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "adopted_server"("id") ON DELETE CASCADE ON UPDATE CASCADE;
