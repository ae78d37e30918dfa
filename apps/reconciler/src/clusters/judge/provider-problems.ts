import type { ClusterErrorCode, ConditionReason } from '@corral/contracts';
import type { Desired } from '../model.js';

/** Why the garden could not do its work, in terms of our API. */
export interface ProviderProblem {
  readonly code: ClusterErrorCode;
  /** The reason that conditions state. */
  readonly reason: ConditionReason;
  /** Retries are useless until the team has acted. */
  readonly needsUser: boolean;
  /** Affected worker pools, by their names in the garden. */
  readonly workers: readonly string[];
  /** Objects in the cluster that a clean-up could not delete, with their kinds. */
  readonly remaining: readonly string[];
  /** Happened since the last change of the Shoot or the start of the retry cycle. Otherwise left over from before. */
  readonly isCurrent: boolean;
}

/** Why the provider refuses a token, or accepts it for reading only. */
export function tokenRefusal({ connection }: Desired): Pick<ProviderProblem, 'code' | 'reason'> {
  return connection.isReadOnly
    ? { code: 'provider_permission_denied', reason: 'ProviderTokenReadOnly' }
    : { code: 'provider_token_rejected', reason: 'ProviderTokenRejected' };
}

type Problem = Omit<ProviderProblem, 'workers' | 'remaining' | 'isCurrent'>;
type Concerned = Partial<Pick<ProviderProblem, 'workers' | 'remaining'>>;

/**
 * Classifies a failure by the garden's error code, or else by a known text of the provider. Most failures on this provider
 * have no code.
 *
 * @param description free text of the provider. It is never passed on
 */
export function problemOf(codes: readonly string[], description: string): Problem {
  const byCode = problemsByCode.find(([code]) => codes.includes(code));
  if (byCode !== undefined) return byCode[1];
  return problemsByText.find(([text]) => text.test(description))?.[1] ?? unexplained;
}

const tokenRejected: Problem = { code: 'provider_token_rejected', reason: 'ProviderTokenRejected', needsUser: true };
const permissionDenied: Problem = {
  code: 'provider_permission_denied',
  reason: 'ProviderPermissionDenied',
  needsUser: true,
};
const quotaExceeded: Problem = { code: 'provider_quota_exceeded', reason: 'ProviderQuotaExceeded', needsUser: true };
const rateLimited: Problem = { code: 'provider_rate_limited', reason: 'ProviderRateLimited', needsUser: false };
const outOfStock: Problem = { code: 'provider_capacity', reason: 'ProviderOutOfStock', needsUser: false };
const blocked: Problem = { code: 'provider_dependency', reason: 'ProviderResourcesBlock', needsUser: false };
const cleanupBlocked: Problem = { code: 'cleanup_blocked', reason: 'CleanupBlocked', needsUser: false };
const webhookBlocks: Problem = { code: 'webhook_blocks', reason: 'WebhookBlocks', needsUser: true };
const badConfiguration: Problem = { code: 'configuration_problem', reason: 'ConfigurationProblem', needsUser: true };
const unexplained: Problem = { code: 'internal_error', reason: 'PlatformFault', needsUser: false };

/** Problems in the order of precedence. Source: gardener, docs/usage/shoot/shoot_status.md */
const problemsByCode: readonly (readonly [string, Problem])[] = [
  ['ERR_INFRA_UNAUTHENTICATED', tokenRejected],
  ['ERR_INFRA_UNAUTHORIZED', permissionDenied],
  ['ERR_INFRA_QUOTA_EXCEEDED', quotaExceeded],
  ['ERR_INFRA_RATE_LIMITS_EXCEEDED', rateLimited],
  ['ERR_PROBLEMATIC_WEBHOOK', webhookBlocks],
  ['ERR_CONFIGURATION_PROBLEM', badConfiguration],
  ['ERR_INFRA_DEPENDENCIES', { ...blocked, needsUser: true }],
  ['ERR_INFRA_RESOURCES_DEPLETED', outOfStock],
  ['ERR_CLEANUP_CLUSTER_RESOURCES', cleanupBlocked],
  ['ERR_RETRYABLE_CONFIGURATION_PROBLEM', { ...badConfiguration, needsUser: false }],
  ['ERR_RETRYABLE_INFRA_DEPENDENCIES', blocked],
];

/** Error codes and messages of the provider's API (docs.hetzner.cloud, "Errors") as machines and volumes report them. */
const problemsByText: readonly (readonly [RegExp, Problem])[] = [
  [/token_readonly|\bread[- ]?only token/i, permissionDenied],
  [/\bunauthorized\b|unable to authenticate|invalid (api )?token/i, tokenRejected],
  [/rate_limit_exceeded|rate limit|too many requests/i, rateLimited],
  [
    /resource_limit_exceeded|\b(server|core|volume|network|primary ip|ip) limit\b|limit (reached|exceeded)/i,
    quotaExceeded,
  ],
  [
    /resource_unavailable|error during placement|placement_error|currently unavailable|no (available )?capacity/i,
    outOfStock,
  ],
  [/\bforbidden\b|insufficient permissions/i, permissionDenied],
  [/unsupported location for server type|server type .*(not found|does not exist|deprecated)/i, badConfiguration],
  [/image .*(not found|does not exist)/i, badConfiguration],
  [/networks_overlap|no_subnet_available|ip_not_available|uniqueness_error|is still in use|\bprotected\b/i, blocked],
];

/** The workers that a failure is about, as far as it names them, by their names or machine types. */
export function workersIn(
  description: string,
  workers: readonly { readonly name: string; readonly machineType: string }[],
): string[] {
  const words = new Set(description.split(/[^\w.-]+/).map((word) => word.replace(/\.$/, '')));
  const named = workers.filter(({ name }) => description.includes(`-${name}-`));
  const found = named.length > 0 ? named : workers.filter(({ machineType }) => words.has(machineType));
  return found.map(({ name }) => name);
}

const remainingMax = 5;

/**
 * The objects in `remaining objects are still present: [*v1.Namespace /a apps/v1, Kind=Deployment a/b]`: of the team's own cluster,
 * if the failure has the code of a clean-up (gardener: pkg/utils/kubernetes/client/cleaner.go).
 */
export function remainingIn(codes: readonly string[], description: string): string[] {
  if (!codes.includes('ERR_CLEANUP_CLUSTER_RESOURCES')) return [];
  const [, listed = ''] = /remaining objects are still present: \[([^\]]*)\]/.exec(description) ?? [];
  const found = listed.matchAll(/(?:\*\w+\.|Kind=)([A-Z]\w*) \/?([\w./:-]+)/g);
  return [...found].slice(0, remainingMax).map(([, kind, name]) => `${kind} ${name}`);
}

/** The message that a team reads about a failure, with the team's names for things. Hints come with the error code. */
export function sentenceFor(
  code: ClusterErrorCode,
  desired: Desired,
  { workers = [], remaining = [] }: Concerned = {},
): string {
  const pools = desired.pools.filter(({ workerName }) => workers.includes(workerName));
  const named = pools.map(({ name, machineType }) => `${name} (${machineType})`);
  const concerned = [...(named.length === 0 ? [] : [poolsText(named)]), ...remaining].join(', ');
  return `${sentences[code](desired)}${concerned === '' ? '' : ` Concerned: ${concerned}.`}`;
}

export function poolsText(names: readonly string[]): string {
  return names.length === 1 ? `node pool ${names[0]}` : `node pools ${names.join(', ')}`;
}

const sentences: Record<ClusterErrorCode, (desired: Desired) => string> = {
  provider_token_rejected: ({ connection }) =>
    `The provider does not accept the token of connection ${connection.ref}.`,
  provider_permission_denied: ({ connection }) =>
    `The token of connection ${connection.ref} ${connection.isReadOnly ? 'is read-only' : 'lacks permissions'} at the provider.`,
  provider_quota_exceeded: () => 'A limit of the cloud project has been reached.',
  provider_rate_limited: () => 'The provider has received too many requests for this cloud project.',
  provider_capacity: ({ spec }) => `The provider has no capacity left for a machine type in ${spec.region}.`,
  provider_dependency: () => 'Resources in the cloud project block the change, or are still in use.',
  cleanup_blocked: () => 'Objects in the cluster cannot be deleted.',
  webhook_blocks: () => 'An admission webhook in the cluster blocks the system.',
  configuration_problem: () => 'The cluster cannot be created or changed as declared.',
  refused_by_garden: () => 'The specification was refused.',
  platform_quota_exceeded: () => 'A limit of this platform has been reached. The change waits until there is capacity.',
  field_conflict: () => 'Another manager keeps changing fields that are declared here.',
  name_collision: () => 'The name of this cluster in the garden belongs to another cluster.',
  shoot_missing: () => 'The cluster no longer exists, and this service did not delete it. It is not created again.',
  internal_error: () => 'The cluster could not reach its declared state. The reason is in the logs of this service.',
};
