-- The number of a cloud server is checked with its provider, and has one owner in the whole system. That of a machine which
-- nobody here can look up is the team's own: unique in the team, and in the way of no other.
DROP INDEX "adopted_server_server_id_key";
DROP INDEX "adopted_server_team_id_idx";
CREATE UNIQUE INDEX "adopted_server_team_id_server_id_key" ON "adopted_server"("team_id", "server_id");
CREATE UNIQUE INDEX "adopted_server_one_owner_per_cloud_server" ON "adopted_server"("server_id") WHERE "server_kind" = 'cloud';
