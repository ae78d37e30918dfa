import { type Gate, type GateOptions, gate } from '@corral/admission';
import { GardenError } from '@corral/garden';
import { Stopped } from '../loop/work.js';

/** What a call revealed about the garden itself, independent of its subject. */
export type GardenReport =
  | { readonly kind: 'fine' }
  /** The garden throttles: no call before the Retry-After time, and fewer afterwards. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | null }
  /** No answer. A single cluster may cause this, but several in a row mean that the garden is unavailable. */
  | { readonly kind: 'away' }
  /** The garden denies access. */
  | { readonly kind: 'locked' };

/** What a failed call says about the garden itself. Null for errors that are not the garden's. Any definite answer is `fine`. */
export function gardenReportOf(error: unknown): GardenReport | null {
  if (!(error instanceof GardenError)) return null;
  switch (error.kind) {
    case 'throttled':
      return {
        kind: 'throttled',
        retryAfterMs: error.retryAfterSeconds === null ? null : error.retryAfterSeconds * 1_000,
      };
    case 'credentials':
      return { kind: 'locked' };
    case 'unreachable':
    case 'uncertain':
    case 'server_error':
    case 'unusable':
      return { kind: 'away' };
    default:
      return { kind: 'fine' };
  }
}

export type GardenGate = Gate<GardenReport>;

/** A gate in front of the garden, see `gate`. Callers that wait when the process stops get `Stopped`. */
export function gardenGate(options: Omit<GateOptions<GardenReport['kind']>, 'effects'>): GardenGate {
  const { enter, state } = gate({
    ...options,
    effects: { fine: 'opens', throttled: 'slows', away: 'shutsInARow', locked: 'shuts' },
  });
  return {
    state,
    enter: (key, signal) =>
      enter(key, signal).catch(() => {
        throw new Stopped();
      }),
  };
}
