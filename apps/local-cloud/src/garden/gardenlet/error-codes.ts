/** Codes after which Gardener gives up at once: the operation is Failed until somebody acts. */
const final = new Set([
  'ERR_INFRA_UNAUTHENTICATED',
  'ERR_INFRA_UNAUTHORIZED',
  'ERR_INFRA_QUOTA_EXCEEDED',
  'ERR_INFRA_RATE_LIMITS_EXCEEDED',
  'ERR_INFRA_DEPENDENCIES',
  'ERR_CONFIGURATION_PROBLEM',
  'ERR_PROBLEMATIC_WEBHOOK',
]);

const retried = new Set([
  'ERR_RETRYABLE_INFRA_DEPENDENCIES',
  'ERR_INFRA_RESOURCES_DEPLETED',
  'ERR_CLEANUP_CLUSTER_RESOURCES',
  'ERR_RETRYABLE_CONFIGURATION_PROBLEM',
]);

export const isKnownCode = (code: string): boolean => final.has(code) || retried.has(code);

/** An error without a code is tried again. */
export const isFinal = (codes: readonly string[]): boolean => codes.some((code) => final.has(code));
