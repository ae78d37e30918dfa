import type { GardenFeature } from '@corral/garden';
import { invalidField, type Problem } from '../problem.js';

/** A refusal that names the optional garden feature and says that operators may be able to enable it. */
export function lacksFeature(feature: GardenFeature, pointer: string, why: string): Problem {
  const who = `or ask the operators of this installation to enable ${feature}, if its garden supports it`;
  return invalidField('unsupported_by_garden', pointer, `${why}, ${who}`);
}

/** JSON pointers (RFC 6901) to node pools in the body of a request. */
export interface Places {
  readonly pools: string;
  pool(index: number): string;
}

/** For the body of a cluster, which lists all pools. */
export const inCluster: Places = { pools: '/spec/nodePools', pool: (index) => `/spec/nodePools/${index}` };

/** For the body of a single pool. */
export const inPool: Places = { pools: '/spec', pool: () => '/spec' };
