import type { GardenFeature } from '@corral/garden';
import { invalidField, type Problem } from '../problem.js';

/** The refusal of what this garden may be able to do: who can allow it is told, for no team can find out otherwise. */
export function lacksFeature(feature: GardenFeature, pointer: string, why: string): Problem {
  const who = `or ask the operators of this installation to enable ${feature}, if its garden supports it`;
  return invalidField('unsupported_by_garden', pointer, `${why}, ${who}`);
}
