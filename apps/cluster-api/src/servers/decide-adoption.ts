import { isDeepStrictEqual } from 'node:util';
import {
  type AdoptedServerSpec,
  type ConnectionPhase,
  clusterLimits,
  isWipeAcknowledged,
  joinsByCommand,
  serverLabels,
} from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import type { ServerReading } from '@corral/hcloud';
import { invalidField, Problem } from '../problem.js';
import type { AdoptedServerRecord } from './body.js';

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
      throw underWay(
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
      throw underWay(server, 'The server is being deregistered. Adopt it when that has finished.');
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
const underWay = ({ operationId }: AdoptedServerRecord, detail: string): Problem =>
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

/** Such as `location is fsn1, not hel1`. */
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
export function checkIsUnclaimed({ labels }: Pick<ServerReading, 'labels'>, claimToken: string | null): void {
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
