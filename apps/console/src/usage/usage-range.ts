import type { UsageStep } from '@corral/contracts';

const HOUR_MS = 3_600_000;

export interface UsageWindow {
  readonly id: string;
  readonly label: string;
  readonly step: UsageStep;
  readonly points: number;
}

/** What people choose from. Long windows are in days, so that a point stays wide enough to be seen. */
export const usageWindows = [
  { id: '24h', label: '24 h', step: 'hour', points: 24 },
  { id: '7d', label: '7 d', step: 'hour', points: 7 * 24 },
  { id: '30d', label: '30 d', step: 'day', points: 30 },
  { id: '90d', label: '90 d', step: 'day', points: 90 },
] as const satisfies readonly UsageWindow[];

/** The window of that id; the one of 7 days for any other text. */
export const usageWindowOf = (id: string | undefined): UsageWindow =>
  usageWindows.find((window) => window.id === id) ?? usageWindows[1];

/** The time in the first of the last `points` hours or days, including the current one. @param now Unix time in ms */
export const firstOf = ({ step, points }: UsageWindow, now: number): string =>
  new Date(now - (points - 1) * (step === 'hour' ? HOUR_MS : 24 * HOUR_MS)).toISOString();
