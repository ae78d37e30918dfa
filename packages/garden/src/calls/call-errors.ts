import type { JsonObject } from '@corral/contracts';
import { type AnswerHeaders, type Broken, mayHaveArrived } from '@corral/service';
import { type Access, classify } from './classify.js';
import { GardenError, type GardenErrorDetails, type GardenErrorKind } from './garden-error.js';
import { parseStatus } from './status.js';

export type Verb = 'get' | 'list' | 'watch' | 'apply' | 'patch' | 'create' | 'delete';

/** Describes a call in its errors and metrics. */
export interface CallName {
  verb: Verb;
  /** with the subresource, e.g. `shoots/adminkubeconfig` */
  resource: string;
  access: Access;
  /** the call sends or fetches a secret, which the garden may quote: errors keep none of the garden's text */
  confidential?: boolean;
  /** the answer is a credential: the call may be repeated, but a lost answer may have issued one (`uncertain`) */
  grants?: boolean;
  /** the call goes to a Shoot's own API server */
  fromShoot?: boolean;
}

/** The error of a call without a usable answer. */
export function brokenError(call: CallName, broken: Broken): GardenError {
  const what = `${nameOf(call)}: ${reasonOf(broken)}`;
  if (broken.stage === 'answering') return errorOf(call, 'unusable', what);
  const mayBeDone = mayHaveArrived(broken) && (call.access === 'write' || call.grants === true);
  const untrusted = broken.cause === 'error' && broken.untrusted;
  return errorOf(call, mayBeDone ? 'uncertain' : 'unreachable', what, { untrusted });
}

function reasonOf(broken: Broken): string {
  const isConnected = mayHaveArrived(broken);
  switch (broken.cause) {
    case 'caller':
      return 'the caller gave up';
    case 'time':
      return isConnected ? 'no answer in time' : 'no connection in time';
    case 'too_large':
      return `the answer has more than ${broken.bytesMax} bytes`;
    case 'error':
      if (!isConnected) return `no connection (${broken.code})`;
      return `${broken.stage === 'answering' ? 'the answer broke off' : 'the connection broke'} (${broken.code})`;
  }
}

/** The error of a failure response, or of an ERROR event: a Status with a code inside a stream. */
export function failureError(
  call: CallName,
  failure: { status: number; headers: AnswerHeaders; body: JsonObject | null },
): GardenError {
  const { kind, details } = classify(failure.status, parseStatus(failure.body), failure.headers, call.access);
  const what = `${nameOf(call)}: ${failure.status} ${details.reason ?? 'without a Status'}`;
  return errorOf(call, kind, what, call.confidential ? { ...details, ...silent } : details);
}

/** What could quote a secret. */
const silent = { sentences: [], fields: [], denial: null };

export function unusableError(call: CallName, why: string): GardenError {
  return errorOf(call, 'unusable', `${nameOf(call)}: ${why}`);
}

/** The garden refuses every user while it starts: nothing has happened. */
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
