import type { RequestScope } from '@corral/admission';
import { clusterLimits, serverLabels } from '@corral/contracts';
import type { ProjectOutcome, ServerReading } from '@corral/hcloud';
import { Problem } from '../problem.js';
import type { Services } from '../services.js';

const readServerWith = ({ upstreams }: Services, scope: RequestScope, token: string, id: number) =>
  upstreams.inProject(scope, token, (project) => project.readServer(id));

/**
 * Reads a server in the cloud project of a token.
 *
 * @param absent the error when the project has no such server
 * @throws Problem `connection_rejected`, `upstream_unavailable`, or the one for an absent server
 */
export async function serverInProject(
  services: Services,
  scope: RequestScope,
  token: string,
  id: number,
  absent: () => Problem,
): Promise<ServerReading> {
  const outcome = await readServerWith(services, scope, token, id);
  if (outcome.kind === 'absent') throw absent();
  return valueIn(services, scope, token, outcome);
}

/**
 * Lists the servers in the cloud project of a token that are no nodes of clusters.
 *
 * @throws Problem `connection_rejected`, `upstream_unavailable`
 */
export async function serversInProject(
  services: Services,
  scope: RequestScope,
  token: string,
): Promise<readonly ServerReading[]> {
  const outcome = await services.upstreams.inProject(scope, token, (project) =>
    project.listServersWithout(serverLabels.clusterNode, clusterLimits.projectServersListed),
  );
  return valueIn(services, scope, token, outcome);
}

async function valueIn<T>(
  { upstreams }: Services,
  scope: RequestScope,
  token: string,
  outcome: ProjectOutcome<T>,
): Promise<T> {
  if (outcome.kind === 'ok') return outcome.value;
  // A single refusal may be an outage.
  if (outcome.kind === 'credentials_refused' && (await upstreams.verifyToken(scope, token)) === 'rejected') {
    throw connectionRejected();
  }
  throw unavailable(outcome);
}

export const connectionRejected = (): Problem =>
  new Problem(
    'connection_rejected',
    'The provider rejects the token. Replace the token of the connection with a valid one, then retry.',
  );

function unavailable(outcome: Exclude<ProjectOutcome<unknown>, { kind: 'ok' }>): Problem {
  const options = outcome.kind === 'throttled' ? { retryAfterSeconds: Math.ceil(outcome.retryAfterMs / 1_000) } : {};
  return new Problem('upstream_unavailable', 'The provider gave no usable answer. Nothing was changed. Try again.', {
    ...options,
    cause: new Error(`provider: ${JSON.stringify(outcome)}`),
  });
}

/** The resources that a connection is known to have in its cloud project. */
export interface ProjectResources {
  /** Ids of adopted servers. */
  readonly serverIds: readonly number[];
  /** The garden's names of clusters that have nodes. */
  readonly clusters: readonly string[];
}

/**
 * Whether the token belongs to another cloud project: one without any node of the connection's clusters, or without any
 * of its adopted servers. Every negative answer must be confirmed by a second one. Unclear answers count as the right
 * project.
 */
export async function isOtherProject(
  services: Services,
  scope: RequestScope,
  token: string,
  { serverIds, clusters }: ProjectResources,
): Promise<boolean> {
  return (await hasNoNode(services, scope, token, clusters)) || (await hasNoServer(services, scope, token, serverIds));
}

async function hasNoNode(
  { upstreams }: Services,
  scope: RequestScope,
  token: string,
  clusters: readonly string[],
): Promise<boolean> {
  if (clusters.length === 0) return false;
  for (let time = 1; time <= 2; time += 1) {
    const outcome = await upstreams.inProject(scope, token, (project) =>
      project.hasServerWith(serverLabels.clusterNode, clusters),
    );
    if (outcome.kind !== 'ok' || outcome.value) return false;
  }
  return true;
}

async function hasNoServer(
  services: Services,
  scope: RequestScope,
  token: string,
  serverIds: readonly number[],
): Promise<boolean> {
  if (serverIds.length === 0) return false;
  for (const id of [...serverIds, ...serverIds]) {
    if ((await readServerWith(services, scope, token, id)).kind !== 'absent') return false;
  }
  return true;
}
