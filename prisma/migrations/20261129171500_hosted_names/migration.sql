-- CreateTable
CREATE TABLE "hosted_name" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "cluster_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'Pending',
    "message" TEXT NOT NULL DEFAULT '',
    "dns_token_id" UUID,
    "created_by" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "removal_requested_at" TIMESTAMPTZ(3),
    "checked_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "failures" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "hosted_name_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "hosted_name_dns_token_id_key" ON "hosted_name"("dns_token_id");

-- CreateIndex
CREATE INDEX "hosted_name_cluster_id_idx" ON "hosted_name"("cluster_id");

-- CreateIndex
CREATE INDEX "hosted_name_due_at_idx" ON "hosted_name"("due_at");

-- CreateIndex
CREATE UNIQUE INDEX "hosted_name_team_id_name_key" ON "hosted_name"("team_id", "name");

-- AddForeignKey
ALTER TABLE "hosted_name" ADD CONSTRAINT "hosted_name_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "hosted_name" ADD CONSTRAINT "hosted_name_cluster_id_fkey" FOREIGN KEY ("cluster_id") REFERENCES "cluster"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "hosted_name" ADD CONSTRAINT "hosted_name_dns_token_id_fkey" FOREIGN KEY ("dns_token_id") REFERENCES "dns_token"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "hosted_name" ADD CONSTRAINT "hosted_name_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- The DNS token of a name ends with the name, and so with its cluster, whichever process deletes it.
CREATE FUNCTION "dns_token_end_with_hosted_name"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "dns_token" SET "revoked_at" = clock_timestamp() WHERE "id" = OLD."dns_token_id" AND "revoked_at" IS NULL;
  RETURN NULL;
END;
$$;
CREATE TRIGGER "hosted_name_deleted" AFTER DELETE ON "hosted_name"
FOR EACH ROW EXECUTE FUNCTION "dns_token_end_with_hosted_name"();
