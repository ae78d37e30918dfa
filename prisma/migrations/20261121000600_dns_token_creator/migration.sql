ALTER TABLE "dns_token" ADD COLUMN "created_by" UUID;
ALTER TABLE "dns_token" ADD CONSTRAINT "dns_token_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
