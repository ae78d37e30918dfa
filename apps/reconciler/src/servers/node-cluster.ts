import { isHostName, type NodeMarks, type NodeReading } from '@corral/garden';
import { poolLabel } from '../clusters/shoot-labels.js';
import type { NodeCluster, NodeOf, WantedServer } from './model.js';

/** Without it, the garden counts the node to the worker pool that its configuration comes from. */
const unmanagedAnnotation = 'node.machine.sapcloud.io/not-managed-by-mcm';

/** Claim and membership refer to the same cluster, and it is not being deleted. */
export function hasToJoin({ claim, member }: WantedServer): boolean {
  return claim !== null && member !== null && claim.cluster.id === member.id && !member.isDeleting;
}

/** Null when there is no node to ask about: the server is no node, or its cluster is gone or not in the garden. */
export function nodeOf({ member, nodeName }: WantedServer): NodeOf | null {
  const shoot = member?.shoot ?? null;
  return shoot === null || nodeName === null ? null : { shoot, name: nodeName };
}

/** Why a claimed server waits for a cluster that cannot take nodes. */
export function waitsFor(cluster: NodeCluster): string {
  if (cluster.isDeleting) return 'The cluster is being deleted.';
  if (cluster.isAsleep) return 'The cluster is hibernated. The server joins it once the cluster is resumed.';
  return 'The cluster cannot take nodes yet. The server joins it once the control plane and a managed pool are ready.';
}

/** Marks that the node lacks, or null when it has all. */
export function missingMarks({ claim }: WantedServer, node: NodeReading): NodeMarks | null {
  const label = claim?.poolName;
  const isMarked = node.annotations[unmanagedAnnotation] === '1' && node.labels[poolLabel] === label;
  if (isMarked || label === undefined) return null;
  return { annotations: { [unmanagedAnnotation]: '1' }, labels: { [poolLabel]: label } };
}

/** The cluster's cloud controller finds the server of a node by this name. */
export function nodeNameFor(serverName: string, serverId: number): string {
  const name = serverName.toLowerCase();
  return isHostName(name) ? name : `server-${serverId}`;
}

/** SQL expression of a `NodeCluster`, next to a row of `team`. @param cluster a trusted alias */
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
