-- What a team used in one hour. The reconciler writes the rows; hours in which it did not run have none.
CREATE TABLE "usage_hour" (
    "team_id" UUID NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "counted_at" TIMESTAMPTZ(3),
    "is_final" BOOLEAN NOT NULL DEFAULT false,
    "requests" INTEGER,
    "writes" INTEGER,
    "refused_writes" INTEGER,
    "sampled_at" TIMESTAMPTZ(3),
    "records" INTEGER,
    "records_limit" INTEGER,
    "dns_tokens" INTEGER,
    "clusters" INTEGER,
    "nodes" INTEGER,
    "cost_minimum" TEXT,
    "cost_maximum" TEXT,
    "cost_currency" TEXT,

    CONSTRAINT "usage_hour_pkey" PRIMARY KEY ("team_id","hour")
);

-- CreateIndex
CREATE INDEX "usage_hour_hour_idx" ON "usage_hour"("hour");

-- AddForeignKey
ALTER TABLE "usage_hour" ADD CONSTRAINT "usage_hour_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;
