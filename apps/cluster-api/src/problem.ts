import {
  type InvalidBody,
  type ProblemCode,
  placeOf,
  problemCodes,
  type TextRule,
  type TokenError,
} from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';

/** An invalid field of a request. `message` continues a sentence after the field's name, without a full stop. */
export interface InvalidPlace {
  readonly pointer: string;
  readonly message: string;
  /** Default: the code of the problem. */
  readonly code?: ProblemCode;
  /** The whole text. Default: a sentence with the field's name and the message. */
  readonly detail?: string;
}

export interface ProblemOptions {
  /** Each invalid field of the request. */
  readonly errors?: readonly InvalidPlace[];
  /** The operation that caused the problem. */
  readonly operationId?: string | undefined;
  /** Seconds, whole and at least 1. */
  readonly retryAfterSeconds?: number;
  /** The cause, for the log only. */
  readonly cause?: unknown;
  /** The code for OAuth clients, at the token endpoint only. */
  readonly tokenError?: TokenError;
}

/** The only error class of this API (RFC 9457). `detail` explains to the caller what to do. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly errors: readonly Required<InvalidPlace>[] | undefined;
  readonly operationId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly tokenError: TokenError | null;
  readonly #options: ProblemOptions;

  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    options: ProblemOptions = {},
  ) {
    const { errors, operationId, retryAfterSeconds, cause, tokenError } = options;
    super(`${code}: ${detail}`, { cause });
    this.#options = options;
    this.errors = errors?.map(
      ({ pointer, message, code: own = code, detail: whole = sentenceOf(pointer, message) }) => {
        return { pointer, code: own, message, detail: whole };
      },
    );
    this.operationId = operationId ?? null;
    this.retryAfterSeconds = retryAfterSeconds ?? null;
    this.tokenError = tokenError ?? null;
  }

  /** The same problem with other or further options. */
  with(more: ProblemOptions): Problem {
    return new Problem(this.code, this.detail, { ...this.#options, ...more });
  }

  get status(): number {
    return problemCodes[this.code].status;
  }
}

/** The answer to every change by a team that operators have suspended. */
export const teamSuspended = (): Problem =>
  new Problem(
    'permission_denied',
    'The team is suspended: it can read and take access away, but change nothing else. Ask the operators.',
  );

/** The same answer for resources that do not exist and for those that the caller may not see. */
export const notFound = (): Problem =>
  new Problem('not_found', 'Not found, or you do not have access. Check the path.');

/** @throws Problem `not_found` for null: what does not exist, or what the caller may not see */
export function found<T>(record: T | null): T {
  if (record === null) throw notFound();
  return record;
}

const sentenceOf = (pointer: string, message: string): string => `${placeOf(pointer) || 'The request'} ${message}.`;

/** One invalid field that the schema cannot detect. */
export const invalidField = (code: ProblemCode, pointer: string, message: string): Problem =>
  new Problem(code, sentenceOf(pointer, message), { errors: [{ pointer, message }] });

/** The path names something to declare that cannot have this name. */
export const badNameInPath = (what: string, { must }: TextRule): Problem =>
  invalidField('validation_failed', '', `needs another name of the ${what} in its path, which ${must}`);

/** A body that does not match its schema. */
export function problemOfBody({ message, fields }: InvalidBody): Problem {
  const errors = fields.map(({ pointer, message: wrong }) => ({ pointer, message: wrong }));
  return new Problem('validation_failed', `${message}.`, { errors });
}

/** A refusal that names the optional garden feature, which operators may be able to enable. */
export function unsupportedByGarden(feature: GardenFeature, pointer: string, why: string): Problem {
  const who = `or ask the operators of this installation to enable ${feature}, if its garden supports it`;
  return invalidField('unsupported_by_garden', pointer, `${why}, ${who}`);
}

/** Enough to correct a request. Bounds the answer to a specification with a hundred invalid pools. */
const errorsMax = 50;

/**
 * Makes every check, so that a request is refused for all its faults and not only for the first one.
 *
 * @param checks each throws a Problem when it refuses. A check must not depend on the ones before it
 * @throws Problem the first one, with the fields of all
 */
export function checkAll(checks: readonly (() => void)[]): void {
  const [first, ...others] = checks.flatMap((check) => {
    const refusal = refusalOf(check);
    return refusal === null ? [] : [refusal];
  });
  if (first !== undefined) throw combined(first, others);
}

/** @returns null when the check does not refuse */
function refusalOf(check: () => void): Problem | null {
  try {
    check();
    return null;
  } catch (error) {
    return asProblem(error);
  }
}

/** @throws the error itself unless it is a Problem */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}

/** The first problem, with the fields of all. */
export function combined(first: Problem, others: readonly Problem[]): Problem {
  if (others.length === 0) return first;
  const errors = [first, ...others].flatMap((refusal) => refusal.errors ?? []).slice(0, errorsMax);
  return first.with({ errors: withoutRepeats(errors) });
}

/**
 * Each sentence once. A field that cannot change is only reported as such: whether its new value would be valid does not
 * matter.
 */
function withoutRepeats(errors: readonly Required<InvalidPlace>[]): Required<InvalidPlace>[] {
  const fixed = new Set(errors.filter(({ code }) => code === 'immutable_field').map(({ pointer }) => pointer));
  const left = errors.filter(({ pointer, code }) => code === 'immutable_field' || !fixed.has(pointer));
  return [...new Map(left.map((error) => [`${error.pointer} ${error.message}`, error])).values()];
}
