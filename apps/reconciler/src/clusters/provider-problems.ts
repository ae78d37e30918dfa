import type { ClusterErrorCode } from '@corral/contracts';

/** Why the garden could not do what it was told, in our words. */
export interface ProviderProblem {
  readonly code: ClusterErrorCode;
  /** One word for conditions. */
  readonly reason: string;
  /** Trying again is in vain until the team has done something. */
  readonly needsUser: boolean;
  /** Worker pools that are named by it, by their names on the garden. */
  readonly workers: readonly string[];
  /** Met since the garden was last told something; else left over from before. */
  readonly isCurrent: boolean;
}

type Problem = Omit<ProviderProblem, 'workers' | 'isCurrent'>;

/**
 * Names a failure by the garden's code, else by a known text of the provider: most failures on this provider come
 * without a code.
 *
 * @param description free text of the provider. It never leaves this function
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

/** In the order of precedence. Source: gardener, docs/usage/shoot/shoot_status.md */
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
