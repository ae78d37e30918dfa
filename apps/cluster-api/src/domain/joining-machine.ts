import { joinsByCommand, type ServerArchitecture, type ServerKind, type ServerPhase } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { Problem } from '../problem.js';
import type { ClusterRecord } from './cluster-record.js';
import { reachableShoot, type ShootAddress } from './kubeconfigs.js';

/** What of an adopted server decides whether a command makes it a node. */
export interface JoiningServer {
  readonly id: string;
  readonly serverId: number;
  readonly kind: ServerKind;
  readonly architecture: ServerArchitecture;
  readonly phase: ServerPhase;
  readonly message: string;
  /** The pool that draws on it, with its cluster as a whole and where that is on the garden. */
  readonly claim: {
    readonly nodePoolId: string;
    readonly cluster: ClusterRecord;
    readonly shoot: ShootAddress | null;
  } | null;
  /** The cluster whose node it may become; written down before it can. */
  readonly memberOfId: string | null;
  readonly nodeName: string | null;
}

/** A machine that may become a node: as which, and where. */
export interface JoiningMachine {
  readonly id: string;
  readonly nodePoolId: string;
  readonly clusterId: string;
  readonly architecture: ServerArchitecture;
  readonly nodeName: string;
  readonly cluster: string;
  readonly shoot: ShootAddress;
}

/**
 * Checks that a join command would do now what it is for.
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
  // Nothing may join before it is written down that it may: what joins is drained when it leaves.
  if (server.phase !== 'Joining' || nodeName === null || server.memberOfId !== cluster.id) {
    throw notJoining('The cluster is not ready for the machine yet. Try again in a moment.');
  }
  return { id, nodePoolId, clusterId: cluster.id, architecture, nodeName, cluster: cluster.name, shoot };
}

/** Null where only a cluster may be in the way. */
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
