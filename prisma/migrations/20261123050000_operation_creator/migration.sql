-- Who requested the change. Null for operations from before, and for those that the service began itself.
ALTER TABLE "operation" ADD COLUMN "created_by" UUID;
ALTER TABLE "operation" ADD CONSTRAINT "operation_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
