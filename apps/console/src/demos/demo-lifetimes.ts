import { type DemoBody, dnsLimits } from '@corral/contracts';

export interface LifetimeOption {
  readonly label: string;
  readonly seconds: number;
}

const HOUR = 3_600;
const steps: readonly LifetimeOption[] = [
  { label: '1 hour', seconds: HOUR },
  { label: '4 hours', seconds: dnsLimits.demoTtlSecondsDefault },
  { label: '1 day', seconds: 24 * HOUR },
  { label: '3 days', seconds: 72 * HOUR },
  { label: '7 days', seconds: dnsLimits.demoTtlSecondsMax },
];

/** Lifetimes of a new demo. */
export const newLifetimes = steps;

/**
 * Lifetimes from now to which a demo can be set, and the longest one that is left.
 *
 * @param now Unix time in ms
 */
export function lifetimesLeft({ max_expires_at }: Pick<DemoBody, 'max_expires_at'>, now: number): LifetimeOption[] {
  const left = Math.floor((Date.parse(max_expires_at) - now) / 1_000);
  const possible = steps.filter(({ seconds }) => seconds < left);
  return left < dnsLimits.demoTtlSecondsMin ? [] : [...possible, { label: 'as long as possible', seconds: left }];
}
