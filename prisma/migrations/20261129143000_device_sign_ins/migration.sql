-- CreateTable
CREATE TABLE "device_sign_in" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "hash" BYTEA NOT NULL,
    "user_code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "user_agent" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "polled_at" TIMESTAMPTZ(3),
    "poll_seconds" INTEGER NOT NULL,
    "decided_at" TIMESTAMPTZ(3),
    "allowed_by" UUID,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "device_sign_in_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "device_sign_in_hash_key" ON "device_sign_in"("hash");

-- CreateIndex
CREATE UNIQUE INDEX "device_sign_in_user_code_key" ON "device_sign_in"("user_code");

-- CreateIndex
CREATE INDEX "device_sign_in_allowed_by_idx" ON "device_sign_in"("allowed_by");

-- CreateIndex
CREATE INDEX "device_sign_in_expires_at_idx" ON "device_sign_in"("expires_at");

-- AddForeignKey
ALTER TABLE "device_sign_in" ADD CONSTRAINT "device_sign_in_allowed_by_fkey" FOREIGN KEY ("allowed_by") REFERENCES "session"("id") ON DELETE CASCADE ON UPDATE CASCADE;
