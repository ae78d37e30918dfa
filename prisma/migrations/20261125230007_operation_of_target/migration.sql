-- For lists of a target, by name or id: without it, all operations of the team are read, because a name might be an id.
CREATE INDEX CONCURRENTLY "operation_of_target" ON "operation"("team_id", "target_name", "created_at" DESC, "id");
