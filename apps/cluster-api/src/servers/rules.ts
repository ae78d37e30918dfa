import { isDeepStrictEqual } from 'node:util';
import {
  type AdoptedServerSpec,
  type ClusterId,
  type ConnectionPhase,
  clusterLimits,
  isWipeAcknowledged,
  joinsByCommand,
  type NodePoolId,
  type ServerArchitecture,
  type ServerId,
  type ServerKind,
  type ServerPhase,
  serverLabels,
} from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import type { ServerReading } from '@corral/hcloud';
import type { ClusterRecord } from '../clusters/store.js';
import { reachableShoot } from '../kubeconfigs/credentials.js';
import type { ShootAddress } from '../kubeconfigs/store.js';
import { invalidField, Problem } from '../problem.js';
import type { AdoptedServerRecord } from './view.js';

/** What a request to adopt a server means, given what the team knows of that server. */
export type Adoption =
  | { readonly kind: 'new' }
  /** The adoption failed and was acknowledged again. */
  | { readonly kind: 'again'; readonly server: AdoptedServerRecord }
  /** The same adoption is already running. Both requests mean one rebuild. */
  | { readonly kind: 'under way'; readonly server: AdoptedServerRecord };

/**
 * Checks the request without outside calls.
 *
 * @throws Problem `acknowledgement_required`, `unsupported_by_garden`, `validation_failed`
 */
export function checkAdoptionRequest(
  spec: AdoptedServerSpec,
  acknowledge: unknown,
  features: ReadonlySet<GardenFeature>,
): void {
  if (!isWipeAcknowledged(acknowledge)) {
    throw new Problem(
      'acknowledgement_required',
      'Adopting the server destroys all data on it. To confirm, send exactly `acknowledge: {"confirm": "WIPE"}`.',
      { errors: [{ pointer: '/acknowledge', message: 'must be exactly {"confirm": "WIPE"}' }] },
    );
  }
  if (joinsByCommand(spec.serverKind) && !features.has('adopted-nodes')) {
    const message = `is ${spec.serverKind}, which needs node pools on adopted servers. This installation does not support them`;
    throw invalidField('unsupported_by_garden', '/spec/serverKind', message);
  }
  // The team chooses this type freely, but a node pool must be able to name it.
  const { machineTypeCharacters: most } = clusterLimits;
  if (joinsByCommand(spec.serverKind) && spec.serverType.length > most) {
    const message = `must have at most ${most} characters, like the machineType of a node pool`;
    throw invalidField('validation_failed', '/spec/serverType', message);
  }
}

/**
 * Decides whether a server can be adopted.
 *
 * @throws Problem `server_claimed`
 */
export function decideAdoption(server: AdoptedServerRecord | null, spec: AdoptedServerSpec): Adoption {
  if (server === null) return { kind: 'new' };
  switch (server.phase) {
    case 'Failed':
      if (server.claimedBy !== null) throw claimedByPool(server.claimedBy);
      return { kind: 'again', server };
    case 'Adopting':
    case 'Rebuilding':
      if (isDeepStrictEqual({ ...server.spec }, { ...spec })) return { kind: 'under way', server };
      throw operationUnderWay(
        server,
        `The server is being adopted with another specification: ${differences(spec, server.spec).join(', ')}. ` +
          'Wait until the adoption has finished.',
      );
    case 'Ready':
      throw new Problem('server_claimed', 'The server is already adopted. Deregister it before you adopt it again.');
    case 'Joining':
    case 'Joined':
    case 'Leaving':
      throw new Problem(
        'server_claimed',
        'The server is a node of a cluster, or is joining or leaving one. Make the node pool smaller, and wait until the ' +
          'server is Ready.',
      );
    case 'Missing':
      throw new Problem('server_claimed', 'The server is already adopted, and is missing. Deregister it first.');
    case 'Deregistering':
      throw operationUnderWay(server, 'The server is being deregistered. Adopt it when that has finished.');
  }
}

/** Why a server of a cloud project cannot be adopted now; null if it can. */
export function adoptionObstacle(server: AdoptedServerRecord | null, found: ServerReading): string | null {
  const { id: serverID, serverType, location, architecture } = found;
  try {
    const spec = { serverID, serverType, location, architecture, serverKind: 'cloud' } as const;
    const adoption = decideAdoption(server, spec);
    if (adoption.kind === 'under way') return 'The server is being adopted.';
    checkIsUnclaimed(found, adoption.kind === 'again' ? adoption.server.claimToken : null);
    return null;
  } catch (error) {
    if (error instanceof Problem) return error.detail;
    throw error;
  }
}

/**
 * Checks that no cluster uses a server that is to be detached. With a rejected token a server can never be rebuilt, so
 * it may be detached before it left its cluster. A machine that joined by command needs no token to leave.
 *
 * @throws Problem `server_claimed`
 */
export function checkIsDetachable(
  { claimedBy, mayBeNode, phase, spec }: AdoptedServerRecord,
  connection: { readonly phase: ConnectionPhase },
): void {
  if (claimedBy !== null) throw claimedByPool(claimedBy);
  const isRebuilt = !joinsByCommand(spec.serverKind);
  if (!mayBeNode || (isRebuilt && connection.phase === 'Rejected')) return;
  throw new Problem(
    'server_claimed',
    phase === 'Failed' && isRebuilt
      ? 'The server failed while joining or leaving a cluster, and may still be a node. Adopt it again, which rebuilds it, ' +
          'and deregister it once it is Ready.'
      : 'The server is leaving a cluster. Deregister it once it is Ready.',
  );
}

/** An operation on the server must end first. */
const operationUnderWay = ({ operationId }: AdoptedServerRecord, detail: string): Problem =>
  new Problem('server_claimed', detail, { operationId: operationId ?? undefined });

const claimedByPool = ({ cluster, nodePool }: NonNullable<AdoptedServerRecord['claimedBy']>): Problem =>
  new Problem(
    'server_claimed',
    `The node pool ${nodePool} of the cluster ${cluster} uses the server. Make the pool smaller first.`,
  );

/**
 * Compares a request with the server at the provider, to protect against wiping the wrong one.
 *
 * @throws Problem `validation_failed`
 */
export function checkMatchesServer(spec: AdoptedServerSpec, found: ServerReading): void {
  const { serverType, location, architecture } = found;
  const real = { serverType, location, architecture };
  const wrong = differingFields(spec, real);
  if (wrong.length === 0) return;
  const detail =
    `The server ${spec.serverID} does not match the specification: ${differences(spec, real).join(', ')}. ` +
    'Check that it is the server that you mean.';
  const errors = wrong.map((field) => ({ pointer: `/spec/${field}`, message: `is ${real[field]} for this server` }));
  throw new Problem('validation_failed', detail, { errors });
}

type ServerField = keyof AdoptedServerSpec;

const differingFields = <F extends ServerField>(
  spec: Readonly<Record<ServerField, unknown>>,
  real: Readonly<Record<F, unknown>>,
): F[] => (Object.keys(real) as F[]).filter((field) => spec[field] !== real[field]);

/** Lists differences in the form `location is fsn1, not hel1`. */
const differences = <F extends ServerField>(
  spec: Readonly<Record<ServerField, unknown>>,
  real: Readonly<Record<F, unknown>>,
): string[] => differingFields(spec, real).map((field) => `${field} is ${real[field]}, not ${spec[field]}`);

/**
 * Checks that the server's labels show no other owner.
 *
 * @param claimToken the claim of the team's own earlier adoption, or null
 * @throws Problem `server_claimed`
 */
export function checkIsUnclaimed({ labels }: ServerReading, claimToken: string | null): void {
  if (Object.hasOwn(labels, serverLabels.clusterNode)) {
    throw new Problem('server_claimed', 'The server is a node of another cluster, which manages and may delete it.');
  }
  const claim = labels[serverLabels.claim];
  if (claim === undefined || claim === claimToken) return;
  throw new Problem(
    'server_claimed',
    `The server has the label ${serverLabels.claim} of another adoption. If the server is not in use elsewhere, remove the ` +
      'label in the cloud project, then adopt it again.',
  );
}

/** Does not reveal who adopted the server, nor whether that is another team. */
export const claimedByOthers = (): Problem =>
  new Problem(
    'server_claimed',
    'The server is already adopted elsewhere. Deregister it there before you adopt it here.',
  );

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
  const shoot = reachableShoot(cluster, claim.shoot);
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
