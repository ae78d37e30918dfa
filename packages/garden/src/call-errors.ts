import { type Access, type AnswerHeaders, classify } from './classify.js';
import type { Verb } from './client.js';
import { GardenError, type GardenErrorDetails, type GardenErrorKind } from './errors.js';
import type { Broken } from './exchange.js';
import type { JsonObject } from './json.js';
import { parseStatus } from './status.js';

/** What an error says of the call it comes from. */
export interface CallName {
  verb: Verb;
  /** with the subresource, e.g. `shoots/adminkubeconfig` */
  resource: string;
  access: Access;
  /** what is sent or fetched is secret, and the garden may quote it: none of its words are kept */
  confidential?: boolean;
  /** what is answered is a credential: a lost answer may be in somebody's hands, though the call may be repeated */
  grants?: boolean;
  /** it is for a Shoot's own API server */
  fromShoot?: boolean;
}

export function brokenError(call: CallName, { stage, reason, untrusted = false }: Broken): GardenError {
  const what = `${nameOf(call)}: ${reason}`;
  if (stage === 'answering') return errorOf(call, 'unusable', what);
  const mayBeDone = stage === 'waiting' && (call.access === 'write' || call.grants === true);
  return errorOf(call, mayBeDone ? 'uncertain' : 'unreachable', what, { untrusted });
}

/** The error of a failure answer, or of an ERROR event, which is a Status with a code inside a stream. */
export function failureError(
  call: CallName,
  failure: { status: number; headers: AnswerHeaders; body: JsonObject | null },
): GardenError {
  const { kind, details } = classify(failure.status, parseStatus(failure.body), failure.headers, call.access);
  const what = `${nameOf(call)}: ${failure.status} ${details.reason ?? 'without a Status'}`;
  return errorOf(call, kind, what, call.confidential ? { ...details, sentences: [], fields: [] } : details);
}

export function unusableError(call: CallName, why: string): GardenError {
  return errorOf(call, 'unusable', `${nameOf(call)}: ${why}`);
}

/** It refused everybody: nothing has happened. */
export function notReadyError(call: CallName): GardenError {
  return errorOf(call, 'server_error', `${nameOf(call)}: 403 of a garden that is not ready`);
}

export function unreachableError(call: CallName, why: string): GardenError {
  return errorOf(call, 'unreachable', `${nameOf(call)}: ${why}`);
}

export function credentialsError(call: CallName, why: string): GardenError {
  return errorOf(call, 'credentials', `${nameOf(call)}: ${why}`);
}

function errorOf(
  { fromShoot = false }: CallName,
  kind: GardenErrorKind,
  what: string,
  details: GardenErrorDetails = {},
): GardenError {
  return new GardenError(kind, what, { ...details, fromShoot });
}

function nameOf({ verb, resource }: CallName): string {
  return `${verb} ${resource}`;
}
