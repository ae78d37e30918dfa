import {
  type ClusterId,
  joinsByCommand,
  type NodePoolId,
  type ServerArchitecture,
  type ServerId,
  type ServerKind,
  type ServerPhase,
} from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import type { ClusterRecord } from '../clusters/rows.js';
import { reachableShoot, type ShootAddress } from '../kubeconfigs/kubeconfigs.js';
import { Problem } from '../problem.js';

/** The fields of an adopted server that decide whether it can get a join command. */
export interface JoiningServer {
  readonly id: ServerId;
  readonly serverId: number;
  readonly kind: ServerKind;
  readonly architecture: ServerArchitecture;
  readonly phase: ServerPhase;
  readonly message: string;
  /** The pool that claims it, with its cluster and the address of the Shoot. */
  readonly claim: {
    readonly nodePoolId: NodePoolId;
    readonly cluster: ClusterRecord;
    readonly shoot: ShootAddress | null;
  } | null;
  /** The cluster whose node it may become. Stored before it can join. */
  readonly nodeOfClusterId: ClusterId | null;
  readonly nodeName: string | null;
}

/** A machine that may join, with its node name and cluster. */
export interface JoiningMachine {
  readonly id: ServerId;
  readonly nodePoolId: NodePoolId;
  readonly clusterId: ClusterId;
  readonly architecture: ServerArchitecture;
  readonly nodeName: string;
  readonly cluster: string;
  readonly shoot: ShootAddress;
}

/**
 * Checks that a join command would work now.
 *
 * @throws Problem `unsupported_by_garden`, `server_not_joining`, `cluster_deleting`, `cluster_not_ready`
 */
export function joiningMachine(server: JoiningServer, features: ReadonlySet<GardenFeature>): JoiningMachine {
  if (!joinsByCommand(server.kind))
    throw notJoining('A cloud server is rebuilt as a node automatically. It needs no join command.');
  if (!features.has('adopted-nodes')) {
    throw new Problem(
      'unsupported_by_garden',
      'Clusters of this installation do not support adopted nodes. Ask the operators to enable adopted-nodes, if the garden supports it.',
    );
  }
  const { id, architecture, claim, nodeName } = server;
  const obstacle = obstacleOf(server);
  if (obstacle !== null) throw notJoining(obstacle);
  if (claim === null) {
    throw notJoining('No node pool uses the server. Add a node pool for its kind and type to a cluster first.');
  }
  const { nodePoolId, cluster } = claim;
  const shoot = reachableShoot(claim, cluster);
  // The cluster and node name must be stored before a machine joins: leaving machines are drained by them.
  if (server.phase !== 'Joining' || nodeName === null || server.nodeOfClusterId !== cluster.id) {
    throw notJoining('The cluster is not ready for the machine yet. Try again in a moment.');
  }
  return { id, nodePoolId, clusterId: cluster.id, architecture, nodeName, cluster: cluster.name, shoot };
}

/** Why the phase forbids a join. Null when only the cluster may forbid it. */
function obstacleOf({ phase, message }: JoiningServer): string | null {
  switch (phase) {
    case 'Joined':
      return 'The machine is already a node.';
    case 'Leaving':
      return 'The server is leaving a cluster. Wait until it has left, then wipe the machine.';
    case 'Deregistering':
      return 'The server is being deregistered.';
    case 'Failed':
      return `The server has failed. ${message} If a node pool uses it, make the pool smaller. Then adopt the server again.`;
    default:
      return null;
  }
}

export const notJoining = (detail: string): Problem => new Problem('server_not_joining', detail);
