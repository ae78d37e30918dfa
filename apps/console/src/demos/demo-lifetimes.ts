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

/** Less is not worth a choice: a demo of 4 hours could otherwise be extended to 4 hours a second later. */
const LONGER_SECONDS = 60;

export const LONGEST = 'as long as possible';

/** Lifetimes of a new demo. */
export const newLifetimes = steps;

/**
 * Lifetimes from now by which a demo ends later than it does, and the longest one that is left.
 *
 * @param now Unix time in ms
 */
export function longerLifetimes(
  { expires_at, max_expires_at }: Pick<DemoBody, 'expires_at' | 'max_expires_at'>,
  now: number,
): LifetimeOption[] {
  const [present, longest] = [expires_at, max_expires_at].map((at) => Math.floor((Date.parse(at) - now) / 1_000));
  const isLonger = (seconds: number) =>
    seconds >= (present as number) + LONGER_SECONDS && seconds >= dnsLimits.demoTtlSecondsMin;
  const possible = steps.filter(({ seconds }) => seconds < (longest as number));
  return [...possible, { label: LONGEST, seconds: longest as number }].filter(({ seconds }) => isLonger(seconds));
}
