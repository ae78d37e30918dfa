CREATE TABLE "dns_request_count" (
    "team_id" UUID NOT NULL,
    "minute" TIMESTAMPTZ(3) NOT NULL,
    "process_id" UUID NOT NULL,
    "count" INTEGER NOT NULL,
    CONSTRAINT "dns_request_count_pkey" PRIMARY KEY ("team_id", "minute", "process_id")
);
CREATE INDEX "dns_request_count_minute_idx" ON "dns_request_count"("minute");
ALTER TABLE "dns_request_count" ADD CONSTRAINT "dns_request_count_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;
