import { type ClusterErrorCode, type ClusterWaitReason, type ConditionReason, placeOf } from '@corral/contracts';
import { type Denial, denialSentence, GardenError } from '@corral/garden';
import { fullJitterMs } from '@corral/service';
import { VersionUnavailable } from './decide/resolve-version.js';
import { type ApiField, apiFieldOf, ownField } from './drift/drift.js';
import type { Desired, Step } from './model.js';
import { Unrenderable } from './render.js';

/** The outcome of a failed step. Delays are in milliseconds. */
export type Failure =
  /** Transient: try again later. `told`: why, if it may last. */
  | { readonly kind: 'retry'; readonly afterMs: number; readonly told?: Told }
  /** A failure that only the team can fix. The operation fails. The next change, or a better observation, triggers the next try. */
  | {
      readonly kind: 'needsUser';
      readonly code: ClusterErrorCode;
      readonly reason: ConditionReason;
      readonly message: string;
      readonly fields: readonly ApiField[];
    }
  /** The garden, or our access to it, is unavailable. The last observation stays valid, and no operation fails. */
  | { readonly kind: 'pause'; readonly afterMs: number }
  /** A limit or fault of the platform: retry slowly and alert an operator. The message says that it is not the team's fault. */
  | {
      readonly kind: 'platform';
      readonly afterMs: number;
      readonly code: Extract<ClusterErrorCode, 'platform_quota_exceeded' | 'internal_error'>;
      readonly reason: ConditionReason;
    }
  /** Unexpected: retry slowly and alert an operator. */
  | { readonly kind: 'bug'; readonly afterMs: number };

/** What keeps this one cluster waiting. */
interface Told {
  readonly reason: ClusterWaitReason;
  readonly message: string;
}

export interface FailureContext {
  readonly desired: Desired;
  readonly step: Step['do'];
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
}

const quickMs = 500;
const retryMsMax = 5 * 60_000;
const pauseMs = 5_000;
const pauseMsMax = 60_000;
const platformMs = 30_000;
const platformMsMax = 5 * 60_000;
const webhookMs = 2_000;
const webhookMsMax = 60_000;
const policyMs = 10_000;
const bugMs = 60_000;
const bugMsMax = 15 * 60_000;
/** Number of consecutive tries during which caches and rights of a new namespace may lag behind. */
const lagTries = 5;

/** Classifies a failure by what resolves it. Pure and total: accepts any thrown value. */
export function classifyFailure(error: unknown, context: FailureContext): Failure {
  if (error instanceof GardenError) return classifyGardenError(error, context);
  if (error instanceof Unrenderable) {
    const name = placeOf(error.pointer).replace(/^spec\./, '');
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
    case 'webhook_unavailable':
      return {
        kind: 'retry',
        afterMs: backoff(context, webhookMs, webhookMsMax, error),
        told: {
          reason: 'WebhookUnavailable',
          message: `The admission webhook ${error.webhook} of the garden does not answer. Work continues once it does.`,
        },
      };
    // Field conflicts are resolved where the field is applied. The remaining conflicts are concurrent writes.
    case 'conflict':
    case 'exists':
    case 'not_found':
    case 'expired':
      // The read is out of date. The next pass reads again and decides differently.
      return retry(quickMs);
    case 'rbac':
      // Members of a new Project get their rights after a delay.
      return failures < lagTries ? retry() : bug;
    case 'stale_reference':
      return failures < lagTries ? retry(quickMs) : refused([], 'refused_by_garden', 'ReferenceUnknown');
    case 'quota_exceeded':
      return platform('platform_quota_exceeded', 'PlatformQuotaExceeded', context, error);
    case 'refused':
      return error.denial === null
        ? classifyRefusal(error, context, retry(quickMs), bug)
        : classifyDenial(error, error.denial, context);
  }
}

const stepsInWords: Partial<Record<Step['do'], string>> = {
  ensureProject: 'the Project of the team',
  applyCredentials: 'the credentials of the cluster',
  applyShoot: 'the specification',
  deleteShoot: 'the deletion',
};

/** A policy speaks to the team, in its own words. It can refuse what no declaration changes, and be changed itself. */
function classifyDenial(error: GardenError, denial: Denial, context: FailureContext): Failure {
  const { step, desired } = context;
  const message = denialSentence(denial, stepsInWords[step] ?? 'the next step');
  if (step !== 'applyShoot') {
    const afterMs = backoff(context, policyMs, retryMsMax, error);
    return { kind: 'retry', afterMs, told: { reason: 'PolicyRefused', message } };
  }
  const fields = withoutRepeats(
    error.fields.map(({ field }) => apiFieldOf(field, desired)).filter((at) => at !== null),
  );
  return { kind: 'needsUser', code: 'refused_by_garden', reason: 'SpecRefused', message, fields };
}

function platform(
  code: Extract<Failure, { kind: 'platform' }>['code'],
  reason: ConditionReason,
  context: FailureContext,
  error: GardenError,
): Failure {
  return { kind: 'platform', afterMs: backoff(context, platformMs, platformMsMax, error), code, reason };
}

// The garden's messages when the Shoot has begun to migrate or to be deleted since the read (gardener: plugin/pkg/shoot/validator).
const overtaken = /migrat|restor|deletion ?timestamp|marked (to be deleted|for deletion)/i;
// Hibernation is possible after a health check that follows the run, and while no rotation is in progress (the same validator,
// and pkg/apis/core/validation). Only a blocking webhook does not resolve itself.
const notSleepyYet = /'HibernationPossible' constraint is|cannot be hibernated when/;
const webhookInTheWay = /'HibernationPossible' constraint is 'False'/;
const bindingUnknown = /(credentialsbinding|secret)s?\b.*not found/i;

function classifyRefusal(error: GardenError, context: FailureContext, again: Failure, bug: Failure): Failure {
  const { step, desired } = context;
  if (error.sentences.some((words) => overtaken.test(words))) return again;
  // Only the provider decides whether a token is valid. The garden has many other reasons to refuse a Secret.
  if (step === 'applyCredentials') return platform('internal_error', 'PlatformFault', context, error);
  // The other writes contain nothing that a team declared.
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

/** The garden is too old, or too new, to have the field. It is named even if it is not part of the API. */
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

/** The garden's own wording stays in the log, because it names internals. */
function refused(fields: readonly ApiField[], code: ClusterErrorCode, reason: ConditionReason): Failure {
  const names = fields.map(({ name }) => name).join(', ');
  const message =
    fields.length === 0 ? 'The specification was refused.' : `The specification was refused: see ${names}.`;
  return { kind: 'needsUser', code, reason, message, fields };
}

/**
 * Exponential with full jitter, so that simultaneous failures do not retry together. `Retry-After` is a lower bound.
 *
 * @returns milliseconds
 */
function backoff({ desired, random }: FailureContext, baseMs: number, maxMs: number, error?: GardenError): number {
  const askedMs = (error?.retryAfterSeconds ?? 0) * 1_000;
  return Math.round(askedMs + fullJitterMs(desired.known.failures, { firstMs: baseMs, maxMs }, random()));
}
