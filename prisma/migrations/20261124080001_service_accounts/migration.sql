CREATE TABLE "service_account" (
  "id" UUID NOT NULL DEFAULT gen_random_uuid(),
  "team_id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "role" "team_role" NOT NULL,
  "clusters" TEXT[],
  "actions" TEXT[],
  "created_by" UUID NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "service_account_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "service_account_team_id_name_key" ON "service_account"("team_id", "name");
ALTER TABLE "service_account"
ADD CONSTRAINT "service_account_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
ADD CONSTRAINT "service_account_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TABLE "trusted_issuer" (
  "id" UUID NOT NULL DEFAULT gen_random_uuid(),
  "team_id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "issuer" TEXT NOT NULL,
  "audience" TEXT NOT NULL,
  "claims" JSONB NOT NULL,
  "account_id" UUID NOT NULL,
  "created_by" UUID NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "trusted_issuer_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "trusted_issuer_team_id_name_key" ON "trusted_issuer"("team_id", "name");
CREATE INDEX "trusted_issuer_account_id_idx" ON "trusted_issuer"("account_id");
ALTER TABLE "trusted_issuer"
ADD CONSTRAINT "trusted_issuer_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
ADD CONSTRAINT "trusted_issuer_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "service_account"("id") ON DELETE CASCADE ON UPDATE CASCADE,
ADD CONSTRAINT "trusted_issuer_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TABLE "service_account_token" (
  "id" UUID NOT NULL DEFAULT gen_random_uuid(),
  "team_id" UUID NOT NULL,
  "account_id" UUID NOT NULL,
  "hash" BYTEA NOT NULL,
  "created_by" UUID,
  "issuer_id" UUID,
  "subject" TEXT,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  "revoked_at" TIMESTAMPTZ(3),
  "last_used_at" TIMESTAMPTZ(3),
  CONSTRAINT "service_account_token_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "service_account_token_origin" CHECK (
    ("created_by" IS NULL) <> ("issuer_id" IS NULL) AND ("issuer_id" IS NULL) = ("subject" IS NULL)
  )
);
CREATE UNIQUE INDEX "service_account_token_hash_key" ON "service_account_token"("hash");
CREATE INDEX "service_account_token_account_id_created_at_idx" ON "service_account_token"("account_id", "created_at" DESC);
CREATE INDEX "service_account_token_issuer_id_idx" ON "service_account_token"("issuer_id");
ALTER TABLE "service_account_token"
ADD CONSTRAINT "service_account_token_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
ADD CONSTRAINT "service_account_token_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "service_account"("id") ON DELETE CASCADE ON UPDATE CASCADE,
ADD CONSTRAINT "service_account_token_issuer_id_fkey" FOREIGN KEY ("issuer_id") REFERENCES "trusted_issuer"("id") ON DELETE CASCADE ON UPDATE CASCADE,
ADD CONSTRAINT "service_account_token_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- As it was at the time of the entry: accounts are deleted, and entries are not.
ALTER TABLE "audit_entry" ADD COLUMN "account" JSONB;
