-- CreateIndex
CREATE INDEX "trusted_issuer_issuer_idx" ON "trusted_issuer"("issuer");
