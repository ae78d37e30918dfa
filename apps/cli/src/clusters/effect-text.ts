import { placeOf } from '@corral/contracts';
import { printable } from '../output/table.js';
import type { ClusterPlan } from './team-api.js';

export type Effect = ClusterPlan['effects'][number];
type FieldChange = ClusterPlan['changes'][number];

/** What a field was, and what it becomes. */
export const fieldText = ({ pointer, from, to, byDefault }: FieldChange): string =>
  `${placeOf(pointer)}: ${valueText(from)} → ${valueText(to)}${byDefault ? ' (the default, because the declaration leaves it out)' : ''}`;

/** What a field is, and what is wanted. */
export const differenceText = ({ pointer, from, to }: FieldChange): string =>
  `${placeOf(pointer)} is ${valueText(from)} now, and ${valueText(to)} is wanted`;

/** An effect in a few words, such as `node pool own removed`. */
export const shortEffect = (effect: Effect): string => `${targetText(effect)} ${effect.kind}`;

export const targetText = (effect: Effect): string =>
  effect.target === 'cluster' ? 'cluster' : `node pool ${effect.pool}`;

/** A value of a specification as people write it. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'absent';
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}
