import type { AnswerHeaders } from '@corral/service';
import { denialOf, isOfGardener, unansweredWebhookOf } from './admission.js';
import type { GardenErrorDetails, GardenErrorKind } from './garden-error.js';
import { conflictsOf, fieldsOf, isRefusedPatch, type Status, sentencesOf } from './status.js';

/** Whether the call could have changed something. */
export type Access = 'read' | 'write';

interface Verdict {
  kind: GardenErrorKind;
  details: GardenErrorDetails;
}

/**
 * Classifies a failure response. Pure.
 *
 * @param httpStatus anything but 2xx; for an ERROR event of a watch the code inside it
 * @param status the body, or null when it is not a Status. Then only 401, 429 and 5xx count: gateways send these too,
 *   and an overloaded API server itself answers 429 in plain text
 */
export function classify(httpStatus: number, status: Status | null, headers: AnswerHeaders, access: Access): Verdict {
  const kind = kindOf(httpStatus, status, access);
  const retryAfterSeconds = retryAfterOf(status, headers) ?? (kind === 'throttled' ? 1 : null);
  if (status === null) return { kind, details: { status: httpStatus, retryAfterSeconds } };
  const denial = denialOf(status.message);
  return {
    kind,
    details: {
      status: httpStatus,
      reason: status.reason,
      retryAfterSeconds,
      sentences: sentencesOf(status),
      isAnonymous: kind === 'rbac' && isAnonymous.test(status.message),
      fields: kind === 'refused' ? fieldsOf(status) : [],
      denial: denial === null || isOfGardener(denial) ? null : denial,
      webhook: unansweredWebhookOf(status.message),
      causes: kind === 'conflict' ? conflictsOf(status) : [],
      uidMismatch: kind === 'conflict' && isUidMismatch(status),
      continueToken: kind === 'expired' ? status.continueToken : null,
    },
  };
}

function kindOf(httpStatus: number, status: Status | null, access: Access): GardenErrorKind {
  const failing = access === 'write' ? 'uncertain' : 'server_error';
  const denial = status && denialOf(status.message);
  if (denial !== null && !isOfGardener(denial)) return 'refused';
  if (httpStatus === 401) return 'credentials';
  if (httpStatus === 429) return 'throttled';
  if (status === null) return httpStatus >= 500 ? failing : 'unusable';
  switch (httpStatus) {
    case 403:
      return forbiddenKind(status);
    case 404:
      // Without a name, the path is unknown: an API that is not served must not read as an absent object.
      return status.details.name === null ? 'unusable' : 'not_found';
    case 409:
      return status.reason === 'AlreadyExists' ? 'exists' : 'conflict';
    case 410:
      return 'expired';
    case 405:
    case 406:
    case 415:
      return 'unusable';
    case 422:
      return isUidMismatch(status) ? 'conflict' : 'refused';
    default:
      if (httpStatus >= 500) return internalKind(status) ?? failing;
      return httpStatus >= 400 ? 'refused' : 'unusable';
  }
}

// kubernetes: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go. Gardener: plugin/pkg/global/
// {customverbauthorizer,resourcereferencemanager,deletionconfirmation}: admission plugins that report missing rights.
const missingRight =
  /\buser "[^"]*" (cannot|is not allowed to) |\byou are not allowed to (read|both confirm the deletion)\b/i;
// Gardener's admission plugins answer 403 with this text until their caches are filled.
const notReady = 'not yet ready to handle request';

// Gardener's reference manager looks up bindings only in its cache, where a new one appears with a short delay.
const missingReference = /: [\w.]+ "[^"]*" not found$/;

// A server that has just started authenticates no user yet. We always send credentials, and wrong ones lead to a 401.
const isAnonymous = /\buser "system:anonymous" (cannot|is not allowed to) /i;

// kubernetes: plugin/pkg/admission/resourcequota; gardener: plugin/pkg/shoot/quotavalidator.
const quotaExceeded = /\bexceeded quota: |\bquota limits exceeded\b/;

/** A 403 does not always mean missing rights: Gardener's validators use it to refuse bad input. */
function forbiddenKind({ message }: Status): GardenErrorKind {
  if (message.includes(notReady)) return 'server_error';
  if (quotaExceeded.test(message)) return 'quota_exceeded';
  if (missingReference.test(message)) return 'stale_reference';
  return missingRight.test(message) ? 'rbac' : 'refused';
}

/** Recognizes 5xx answers that are caused by the request. */
function internalKind({ message }: Status): GardenErrorKind | null {
  if (unansweredWebhookOf(message) !== null) return 'webhook_unavailable';
  if (message.includes('could not find referenced')) return 'stale_reference';
  return isRefusedPatch(message) ? 'refused' : null;
}

/**
 * Whether a precondition on the uid failed. Besides 409 there is 422: `metadata.uid` is immutable, so validation rejects
 * a patch with another one.
 */
function isUidMismatch({ causes, message }: Status): boolean {
  if (causes.length > 0) return causes.every(({ field }) => field === 'metadata.uid');
  return /\buid in (the )?precondition|uid mismatch/i.test(message);
}

function retryAfterOf(status: Status | null, headers: AnswerHeaders): number | null {
  const text = headers['retry-after'];
  if (text !== undefined && /^\d{1,6}$/.test(text)) return Number(text);
  const until = text === undefined ? Number.NaN : Date.parse(text);
  // Both times are by the server's clock, which may differ from ours.
  const from = Date.parse(headers.date ?? '');
  if (!Number.isNaN(until) && !Number.isNaN(from)) return Math.max(0, Math.ceil((until - from) / 1_000));
  return status?.details.retryAfterSeconds ?? null;
}
