import { isHostName, type NodePatch, type NodeReading } from '@corral/garden';
import { poolLabel } from '../clusters/shoot-labels.js';
import type { NodeCluster, NodeOf, WantedServer } from './model.js';

/** Without it, the garden counts the node to the worker pool that its configuration comes from. */
const unmanagedAnnotation = 'node.machine.sapcloud.io/not-managed-by-mcm';

/** The claim is for the current cluster, which is not being deleted. */
export function hasToJoin({ claim, currentCluster }: WantedServer): boolean {
  return (
    claim !== null && currentCluster !== null && claim.cluster.id === currentCluster.id && !currentCluster.isDeleting
  );
}

/** Null when there is no node to ask about: the server is no node, or its cluster is gone or not in the garden. */
export function nodeOf({ currentCluster, nodeName }: WantedServer): NodeOf | null {
  const shoot = currentCluster?.shoot ?? null;
  return shoot === null || nodeName === null ? null : { shoot, name: nodeName };
}

/** Why a claimed server waits for a cluster that cannot take nodes. */
export function waitsFor(cluster: NodeCluster): string {
  if (cluster.isDeleting) return 'The cluster is being deleted.';
  if (cluster.isHibernated) return 'The cluster is hibernated. The server joins it once the cluster is resumed.';
  return 'The cluster cannot take nodes yet. The server joins it once the control plane and a managed pool are ready.';
}

/** The labels and annotations that the node lacks, or null when it has all. */
export function nodePatchFor({ claim }: WantedServer, node: NodeReading): NodePatch | null {
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
