import type { UsagePoint } from '@corral/contracts';

/** The oldest point whose cost is known, to compare with now; null if there is none before the current one. */
export const earlierCost = (points: readonly UsagePoint[]): UsagePoint | null =>
  points.slice(0, -1).find(({ cost }) => cost.minimum !== null && cost.currency !== null) ?? null;
