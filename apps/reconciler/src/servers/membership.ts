import { isHostName, type NodeMarks, type NodeReading } from '@corral/garden';
import { poolLabel } from '../clusters/marks.js';
import type { NodeCluster, NodeOf, WantedServer } from './model.js';

/** Without it the garden counts one node too many in the worker pool whose configuration the node has. */
const unmanagedAnnotation = 'node.machine.sapcloud.io/not-managed-by-mcm';

/** The claim and the membership are of one cluster, and that one stays. */
export function hasToJoin({ claim, member }: WantedServer): boolean {
  return claim !== null && member !== null && claim.cluster.id === member.id && !member.isDeleting;
}

/** Null when there is no such node to ask about: it is none, or its cluster is gone or has no place on the garden. */
export function nodeOf({ member, nodeName }: WantedServer): NodeOf | null {
  const shoot = member?.shoot ?? null;
  return shoot === null || nodeName === null ? null : { shoot, name: nodeName };
}

/** What a server waits for that is claimed for a cluster that takes no nodes just now. */
export function waitsFor(cluster: NodeCluster): string {
  if (cluster.isDeleting) return 'The cluster is being deleted.';
  if (cluster.isAsleep) return 'The cluster is hibernated. The server joins it once the cluster is resumed.';
  return 'The cluster cannot take nodes yet. The server joins it once the control plane and a managed pool are ready.';
}

/** What the node is to have, as far as it has not; null when nothing is missing. */
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
