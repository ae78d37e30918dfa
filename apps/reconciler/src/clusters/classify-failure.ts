import type { ClusterErrorCode } from '@corral/contracts';
import { GardenError } from '@corral/garden';
import { backoffMs } from '../loop/backoff.js';
import { type ApiField, apiFieldOf, ownField } from './garden-fields.js';
import type { Desired, Step } from './model.js';
import { Unrenderable } from './render-shoot.js';
import { VersionUnavailable } from './resolve-version.js';

/** What a failed step asks for. Delays are in milliseconds. */
export type Failure =
  /** It passes: again, later. */
  | { readonly kind: 'retry'; readonly afterMs: number }
  /** Only the team can mend it: the operation fails, and the next change or better news bring the next try. */
  | {
      readonly kind: 'needsUser';
      readonly code: ClusterErrorCode;
      readonly reason: string;
      readonly message: string;
      readonly fields: readonly ApiField[];
    }
  /** The garden, or our access to it, is away: what was last seen stands, and no operation fails. */
  | { readonly kind: 'pause'; readonly afterMs: number }
  /** A limit or fault of the platform: again, slowly, and somebody has to look. The team reads that it is not theirs. */
  | {
      readonly kind: 'platform';
      readonly afterMs: number;
      readonly code: Extract<ClusterErrorCode, 'platform_quota_exceeded' | 'internal_error'>;
      readonly reason: string;
    }
  /** It should not happen: again, slowly, and somebody has to look. */
  | { readonly kind: 'bug'; readonly afterMs: number };

export interface FailureContext {
  readonly desired: Desired;
  readonly step: Step['do'];
  /** In [0, 1), for jitter. */
  readonly random: () => number;
}

const quickMs = 500;
const retryMsMax = 5 * 60_000;
const pauseMs = 5_000;
const pauseMsMax = 60_000;
const platformMs = 30_000;
const platformMsMax = 5 * 60_000;
const bugMs = 60_000;
const bugMsMax = 15 * 60_000;
/** For so many tries in a row caches and rights of a new namespace may lag behind. */
const lagTries = 5;

/** Sorts a failure by what mends it. Pure and total: anything that can be thrown has its place. */
export function classifyFailure(error: unknown, context: FailureContext): Failure {
  if (error instanceof GardenError) return classifyGardenError(error, context);
  if (error instanceof Unrenderable) {
    const name = error.pointer.replace(/^\/spec\//, '').replaceAll('/', '.');
    return refused([{ pointer: error.pointer, name }], 'refused_by_garden', 'SpecRefused');
  }
  if (error instanceof VersionUnavailable) {
    const field = { pointer: '/spec/kubernetesVersion', name: 'kubernetesVersion' };
    return {
      kind: 'needsUser',
      code: 'configuration_problem',
      reason: 'VersionUnavailable',
      message: `Kubernetes ${error.declared} is not available, or no longer available.`,
      fields: [field],
    };
  }
  return { kind: 'bug', afterMs: backoff(context, bugMs, bugMsMax) };
}

function classifyGardenError(error: GardenError, context: FailureContext): Failure {
  const retry = (baseMs = 1_000): Failure => ({ kind: 'retry', afterMs: backoff(context, baseMs, retryMsMax, error) });
  const bug: Failure = { kind: 'bug', afterMs: backoff(context, bugMs, bugMsMax, error) };
  const { failures } = context.desired.known;
  switch (error.kind) {
    case 'unreachable':
    case 'credentials':
    case 'unusable':
      return { kind: 'pause', afterMs: backoff(context, pauseMs, pauseMsMax, error) };
    case 'uncertain':
    case 'throttled':
    case 'server_error':
      return retry();
    // Who holds a field is decided where it is applied: what is left of conflicts are writes in between.
    case 'conflict':
    case 'exists':
    case 'not_found':
    case 'expired':
      // What was read is out of date. The next pass reads anew and decides otherwise.
      return retry(quickMs);
    case 'rbac':
      // Members of a new Project get their rights a moment later.
      return failures < lagTries ? retry() : bug;
    case 'stale_reference':
      return failures < lagTries ? retry(quickMs) : refused([], 'refused_by_garden', 'ReferenceUnknown');
    case 'quota_exceeded':
      return platform('platform_quota_exceeded', 'PlatformQuotaExceeded', context, error);
    case 'refused':
      return classifyRefusal(error, context, retry(quickMs), bug);
  }
}

function platform(
  code: Extract<Failure, { kind: 'platform' }>['code'],
  reason: string,
  context: FailureContext,
  error: GardenError,
): Failure {
  return { kind: 'platform', afterMs: backoff(context, platformMs, platformMsMax, error), code, reason };
}

// What the garden says when the Shoot has begun to move or to go since it was read (gardener: plugin/pkg/shoot/validator).
const overtaken = /migrat|restor|deletion ?timestamp|marked (to be deleted|for deletion)/i;
// A cluster may sleep once its health was looked at after a run, and no rotation is under way (the same validator, and
// pkg/apis/core/validation). Only a webhook that is in the way stays there.
const notSleepyYet = /'HibernationPossible' constraint is|cannot be hibernated when/;
const webhookInTheWay = /'HibernationPossible' constraint is 'False'/;
const bindingUnknown = /(credentialsbinding|secret)s?\b.*not found/i;

function classifyRefusal(error: GardenError, context: FailureContext, again: Failure, bug: Failure): Failure {
  const { step, desired } = context;
  if (error.sentences.some((words) => overtaken.test(words))) return again;
  // Whether a token is good the provider says, and nobody else: the garden has many reasons to refuse a Secret.
  if (step === 'applyCredentials') return platform('internal_error', 'PlatformFault', context, error);
  // The other writes say nothing that a team has declared.
  if (step !== 'applyShoot') return bug;
  if (error.sentences.some((words) => webhookInTheWay.test(words))) return hibernationBlocked;
  if (error.sentences.some((words) => notSleepyYet.test(words))) return again;
  const isLag = error.sentences.some((words) => bindingUnknown.test(words)) && desired.known.failures < lagTries;
  if (isLag) return again;
  const found = error.fields
    .map(({ field, message }) => apiFieldOf(field, desired) ?? (isUndeclared(message) ? ownField(field) : null))
    .filter((field) => field !== null);
  return refused(withoutRepeats(found), 'refused_by_garden', 'SpecRefused');
}

/** The garden is too old, or too new, to have the field: whose it is does not matter. */
const isUndeclared = (words: string): boolean => /\b(field not declared in schema|unknown field)\b/.test(words);

function withoutRepeats(fields: readonly ApiField[]): ApiField[] {
  return [...new Map(fields.map((field) => [field.name, field])).values()];
}

const hibernationBlocked: Failure = {
  kind: 'needsUser',
  code: 'webhook_blocks',
  reason: 'HibernationBlocked',
  message: 'The cluster cannot be hibernated: an admission webhook in it would block waking it up.',
  fields: [{ pointer: '/spec/hibernated', name: 'hibernated' }],
};

/** The garden's own words stay in the log: they name what is inside of it. */
function refused(fields: readonly ApiField[], code: ClusterErrorCode, reason: string): Failure {
  const names = fields.map(({ name }) => name).join(', ');
  const message =
    fields.length === 0 ? 'The specification was refused.' : `The specification was refused: see ${names}.`;
  return { kind: 'needsUser', code, reason, message, fields };
}

/**
 * Exponential with full jitter: what failed together does not come back together. `Retry-After` is a lower bound.
 *
 * @returns milliseconds
 */
function backoff({ desired, random }: FailureContext, baseMs: number, maxMs: number, error?: GardenError): number {
  const askedMs = (error?.retryAfterSeconds ?? 0) * 1_000;
  return Math.round(askedMs + random() * backoffMs(desired.known.failures, { firstMs: baseMs, maxMs }));
}
