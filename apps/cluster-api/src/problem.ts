import { type ProblemCode, problemCodes } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';

export interface ProblemOptions {
  /** Each wrong place of the request. */
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[];
  /** The operation that the problem is about. */
  readonly operationId?: string | undefined;
  /** Seconds, whole and at least 1. */
  readonly retryAfterSeconds?: number;
  /** Only for our log. */
  readonly cause?: unknown;
}

/** The one error of this API (RFC 9457). `detail` is for the caller and says what to do. */
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

/** The same for what is absent and for what the caller may not see. */
export const notFound = (): Problem =>
  new Problem('not_found', 'Not found, or you do not have access. Check the path.');

/** One wrong place, where the schema cannot tell. `message` goes on where the place's name ends, without a full stop. */
export const invalidField = (code: ProblemCode, pointer: string, message: string): Problem =>
  new Problem(code, `${pointer.slice(1).replaceAll('/', '.') || 'The request'} ${message}.`, {
    errors: [{ pointer, message }],
  });

/** A refusal that names the optional garden feature and says that operators may be able to enable it. */
export function unsupportedByGarden(feature: GardenFeature, pointer: string, why: string): Problem {
  const who = `or ask the operators of this installation to enable ${feature}, if its garden supports it`;
  return invalidField('unsupported_by_garden', pointer, `${why}, ${who}`);
}
