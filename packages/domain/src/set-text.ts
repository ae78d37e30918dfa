import type { SetContent } from './plan.js';

/** Labels as people type and read them: `env=prod`. */
export const labelTexts = (labels: SetContent['labels']): string[] =>
  Object.entries(labels).map((pair) => pair.join('='));

/** A TTL with its unit. Null is the default of the zone. */
export const ttlText = (ttl: SetContent['ttl']): string => (ttl === null ? 'default' : `${ttl} s`);
