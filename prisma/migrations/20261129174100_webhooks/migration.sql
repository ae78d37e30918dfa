-- CreateTable
CREATE TABLE "webhook" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "kinds" TEXT[],
    "sealed_secrets" BYTEA NOT NULL,
    "secrets_key_id" TEXT NOT NULL,
    "previous_secret_until" TIMESTAMPTZ(3),
    "position_xid" BIGINT NOT NULL,
    "position_id" BIGINT NOT NULL,
    "position_at" TIMESTAMPTZ(3) NOT NULL,
    "notice" TEXT,
    "notice_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "delivered_at" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "last_failure" TEXT,
    "created_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "webhook_due_at_idx" ON "webhook"("due_at");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_team_id_name_key" ON "webhook"("team_id", "name");

-- AddForeignKey
ALTER TABLE "webhook" ADD CONSTRAINT "webhook_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook" ADD CONSTRAINT "webhook_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
