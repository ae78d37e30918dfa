import { cutText, isObject, type JsonObject } from '@corral/contracts';
import { denialOf } from './admission.js';
import type { FieldConflict, FieldProblem } from './garden-error.js';
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

interface StatusCause {
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

const sentencesMax = 20;
const conflictsMax = 100;
const charsMax = 500;

/** The messages of a Status, without the prefix that names the object, which the caller knows. */
export function sentencesOf(status: Status): string[] {
  const denial = denialOf(status.message);
  if (denial !== null) return splitWords(denial.words).map(bounded);
  const named = status.causes.filter(({ message }) => message !== '');
  if (named.length === 0) return splitWords(status.message).map(bounded);
  return named.slice(0, sentencesMax).map(({ field, message }) => bounded(field ? `${field}: ${message}` : message));
}

/** The invalid fields: from the causes of a 422, or from the text of a 403, where validators send no causes. */
export function fieldsOf({ causes, message }: Status): FieldProblem[] {
  if (isRefusedPatch(message)) return fieldOfRefusedPatch(message);
  const denial = denialOf(message);
  const named = causes.filter(({ field }) => field !== '');
  // The cause of a policy repeats its message, and names no field.
  const problems =
    causes.length > 0 && denial === null ? named : splitWords(denial?.words ?? message).flatMap(fieldProblemIn);
  return problems
    .slice(0, sentencesMax)
    .map(({ field, message: words }) => ({ field: bounded(field), message: bounded(words) }));
}

/**
 * An apply of a field that the garden does not have. The garden answers 500, but a retry cannot succeed
 * (structured-merge-diff: typed/validate.go; apimachinery: managedfields/internal/structuredmerge.go).
 */
export const isRefusedPatch = (message: string): boolean => /^failed to create typed patch object \(/.test(message);

/** Reads `failed to create typed patch object (a/b; v1, Kind=C): .spec.d: field not declared in schema`. */
function fieldOfRefusedPatch(message: string): FieldProblem[] {
  const [, field, words] = /\): \.([^\s:]+(?:\[[^\]]*\][^\s:]*)*): ([^\n]*)/.exec(message) ?? [];
  return field === undefined || words === undefined ? [] : [{ field, message: words }];
}

/** Reads `conflict with "kubectl-edit" using core.gardener.cloud/v1beta1`. */
export function conflictsOf({ causes }: Status): FieldConflict[] {
  return causes
    .filter(({ reason, field }) => reason === 'FieldManagerConflict' && field !== '')
    .slice(0, conflictsMax)
    .map(({ field, message }) => ({ field, manager: /conflict with "([^"]*)"/.exec(message)?.[1] ?? null }));
}

/** Several errors come as `[spec.a: words, spec.b: words]`; words may contain commas (apimachinery: util/errors). */
function splitWords(message: string): string[] {
  const words = message
    .replace(/^[\w.]+ "[^"]*" is (forbidden|invalid): /, '')
    .replace(/^\[(.*)\]$/s, '$1')
    .trim();
  return words === '' ? [] : words.split(/, (?=(?:spec|metadata)[.[][^\s:]*: )/).slice(0, sentencesMax);
}

function fieldProblemIn(sentence: string): FieldProblem[] {
  const [, field, message] = /^((?:spec|metadata)[.[][^\s:]*): (.*)$/s.exec(sentence) ?? [];
  return field === undefined || message === undefined ? [] : [{ field, message }];
}

const bounded = (words: string): string => cutText(words, charsMax, '…');
