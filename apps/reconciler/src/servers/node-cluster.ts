/** What a `NodeCluster` is made of, in SQL, beside a row of `team`. @param cluster an alias of ours */
export const clusterFacts = (cluster: 'claiming' | 'member'): string => `
  CASE WHEN ${cluster}.id IS NOT NULL THEN json_build_object(
    'id', ${cluster}.id,
    'shoot', CASE WHEN team.project_namespace IS NOT NULL THEN
      json_build_object('namespace', team.project_namespace, 'name', ${cluster}.shoot_name) END,
    'isDeleting', ${cluster}.deletion_requested_at IS NOT NULL,
    'isAsleep', ${isAsleep(cluster)},
    'canTakeNodes', ${cluster}.started_at IS NOT NULL AND ${cluster}.deletion_requested_at IS NULL
      AND ${cluster}.shoot_uid IS NOT NULL AND team.project_namespace IS NOT NULL AND NOT ${isAsleep(cluster)}
      AND ${cluster}.conditions @> '[{"type": "ControlPlaneReady", "status": "True"}]'
      AND EXISTS (SELECT FROM node_pool taking WHERE taking.cluster_id = ${cluster}.id
                  AND taking.team_id = ${cluster}.team_id AND taking.source = 'managed' AND taking.maximum > 0)
  ) END`;

const isAsleep = (cluster: string): string => `coalesce(${cluster}.spec->>'hibernated' = 'true', false)`;
