import { cutText, type HostedNameState, isObject } from '@corral/contracts';
import { certManagerNamespace } from './objects.js';

/** What a cluster has of a name. */
export interface SeenName {
  /** The Deployment of ExternalDNS as the cluster answers it; null without one. */
  readonly deployment: unknown;
  /** Whether cert-manager and its webhook for the DNS API are installed. */
  readonly hasSolver: boolean;
  /** The ClusterIssuer as the cluster answers it; null without one. */
  readonly issuer: unknown;
  /** An object that the certificates need, and that somebody else made, such as `ClusterIssuer shop.acme`; null without one. */
  readonly foreign: string | null;
}

export interface NameStanding {
  readonly state: HostedNameState;
  /** Empty when nothing is missing. */
  readonly message: string;
}

/** Why certificates wait, and what to do. */
export const solverMissing =
  `Records work. For certificates, install cert-manager and its webhook for the DNS API in the namespace ${certManagerNamespace}: ` +
  'see the page "A name on a cluster".';

const MESSAGE_CHARACTERS = 500;

/** Says whether the name works, and otherwise what it waits for. */
export function standingOf({ deployment, hasSolver, issuer, foreign }: SeenName): NameStanding {
  if (!isAvailable(deployment)) return pending('ExternalDNS is starting in the cluster.');
  if (!hasSolver) return pending(solverMissing);
  if (foreign !== null) {
    return pending(`Records work. For certificates, remove ${foreign}, which Corral has not made, or use it yourself.`);
  }
  const ready = conditionOf(issuer, 'Ready');
  if (ready?.status === 'True') return { state: 'Ready', message: '' };
  const why = typeof ready?.message === 'string' && ready.message !== '' ? ` It says: ${ready.message}` : '';
  return pending(`Records work. The ClusterIssuer is not ready yet.${why}`);
}

/** What is said while the cluster cannot be asked. */
export const pending = (message: string): NameStanding => ({
  state: 'Pending',
  message: cutText(message, MESSAGE_CHARACTERS, '…'),
});

/** The Pods of the current declaration serve; those of the one before do not count. */
function isAvailable(deployment: unknown): boolean {
  const { metadata, status } = membersOf(deployment);
  const { generation } = membersOf(metadata);
  const { observedGeneration, updatedReplicas, availableReplicas } = membersOf(status);
  return observedGeneration === generation && updatedReplicas === 1 && availableReplicas === 1;
}

function conditionOf(object: unknown, type: string): Record<string, unknown> | undefined {
  const { conditions } = membersOf(membersOf(object).status);
  return Array.isArray(conditions) ? conditions.map(membersOf).find((each) => each.type === type) : undefined;
}

const membersOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
