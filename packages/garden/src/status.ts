import { isObject, type JsonObject } from '@corral/wire';
import { objectIn, objectsIn, textIn, wholeIn } from './json.js';

/** The `Status` object with which an API server explains a failure (kubernetes API conventions, "Response Status Kind"). */
export interface Status {
  code: number | null;
  /** e.g. `Forbidden`, `Invalid`, `Expired` */
  reason: string;
  message: string;
  /** what the failure is about */
  details: { name: string | null; kind: string | null; retryAfterSeconds: number | null };
  causes: StatusCause[];
  /** in a 410 of a list: continues it on newer data */
  continueToken: string | null;
}

export interface StatusCause {
  reason: string;
  field: string;
  message: string;
}

/** @returns null when the value is not a failure Status: it came from a proxy or a broken server */
export function parseStatus(value: unknown): Status | null {
  if (!isObject(value) || value.kind !== 'Status' || value.status === 'Success') return null;
  const details = objectIn(value, 'details');
  return {
    code: wholeIn(value, 'code'),
    reason: printable(textIn(value, 'reason')),
    message: textIn(value, 'message') ?? '',
    details: {
      name: textIn(details, 'name'),
      kind: textIn(details, 'kind'),
      retryAfterSeconds: wholeIn(details, 'retryAfterSeconds'),
    },
    causes: objectsIn(details, 'causes').map(parseCause),
    continueToken: textIn(objectIn(value, 'metadata'), 'continue'),
  };
}

function parseCause(cause: JsonObject): StatusCause {
  return {
    reason: printable(textIn(cause, 'reason')),
    field: textIn(cause, 'field') ?? '',
    message: textIn(cause, 'message') ?? '',
  };
}

/** Reasons go to logs. Replaces those that do not have Kubernetes' format, as they could contain anything. */
function printable(reason: string | null): string {
  return reason !== null && /^[A-Za-z]{1,64}$/.test(reason) ? reason : 'Unknown';
}
