ALTER TABLE "session" ADD COLUMN "name" TEXT;

CREATE TABLE "sign_in_code" (
  "hash" BYTEA NOT NULL,
  "allowed_by" UUID NOT NULL,
  "starts_session" UUID NOT NULL DEFAULT gen_random_uuid(),
  "code_challenge" TEXT NOT NULL,
  "redirect_uri" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  "used_at" TIMESTAMPTZ(3),
  CONSTRAINT "sign_in_code_pkey" PRIMARY KEY ("hash")
);
CREATE INDEX "sign_in_code_allowed_by_idx" ON "sign_in_code"("allowed_by");
ALTER TABLE "sign_in_code"
ADD CONSTRAINT "sign_in_code_allowed_by_fkey" FOREIGN KEY ("allowed_by") REFERENCES "session"("id") ON DELETE CASCADE ON UPDATE CASCADE;
