-- For lists of a state. Few operations are open, or were cancelled, among all that a team had.
CREATE INDEX CONCURRENTLY "operation_of_state" ON "operation"("team_id", "state", "created_at" DESC, "id");
