ALTER TABLE "dns_action" ADD COLUMN "wanted_at" TIMESTAMPTZ(3);

-- Of all actions ever made the few that still run: these are looked through again and again.
CREATE INDEX "dns_action_running" ON "dns_action"("wanted_at") WHERE "status" = 'running';

CREATE TABLE "dns_action_poll" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "next_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "dns_action_poll_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "dns_action_poll_is_one_row" CHECK ("id" = 1)
);
