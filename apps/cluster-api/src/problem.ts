import { type ProblemCode, problemCodes } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';

export interface ProblemOptions {
  /** Each invalid field of the request. */
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[];
  /** The operation that caused the problem. */
  readonly operationId?: string | undefined;
  /** Seconds, whole and at least 1. */
  readonly retryAfterSeconds?: number;
  /** For the log only. */
  readonly cause?: unknown;
}

/** The only error class of this API (RFC 9457). `detail` explains to the caller what to do. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly errors: ProblemOptions['errors'];
  readonly operationId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    { errors, operationId, retryAfterSeconds, cause }: ProblemOptions = {},
  ) {
    super(`${code}: ${detail}`, { cause });
    this.errors = errors;
    this.operationId = operationId ?? null;
    this.retryAfterSeconds = retryAfterSeconds ?? null;
  }

  get status(): number {
    return problemCodes[this.code].status;
  }
}

/** The same answer for resources that do not exist and for those that the caller may not see. */
export const notFound = (): Problem =>
  new Problem('not_found', 'Not found, or you do not have access. Check the path.');

/** One invalid field that the schema cannot detect. `message` continues a sentence after the field's name, without a full stop. */
export const invalidField = (code: ProblemCode, pointer: string, message: string): Problem =>
  new Problem(code, `${pointer.slice(1).replaceAll('/', '.') || 'The request'} ${message}.`, {
    errors: [{ pointer, message }],
  });

/** A refusal that names the optional garden feature, which operators may be able to enable. */
export function unsupportedByGarden(feature: GardenFeature, pointer: string, why: string): Problem {
  const who = `or ask the operators of this installation to enable ${feature}, if its garden supports it`;
  return invalidField('unsupported_by_garden', pointer, `${why}, ${who}`);
}
