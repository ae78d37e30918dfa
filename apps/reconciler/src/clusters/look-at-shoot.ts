import type { GardenClient, Shoot } from '@corral/garden';
import { isLaterVersion, type ReportedShoots } from '../garden/reported-shoots.js';
import { decide } from './decide/decide.js';
import type { DesiredRead } from './desired-store.js';
import type { Observed } from './model.js';
import { observedFrom } from './observe.js';

/** What a pass decides on. `isReported`: the garden may have a later state, so each write must name this one. */
export interface Look {
  readonly seen: Observed;
  readonly isReported: boolean;
}

export interface LookDeps {
  readonly garden: Pick<GardenClient, 'readShoot'>;
  readonly reported: Pick<ReportedShoots, 'find'>;
}

/** Takes what the watch has reported if that is enough, and otherwise reads the Shoot. */
export async function lookAtShoot(
  { garden, reported }: LookDeps,
  read: Pick<DesiredRead, 'wanted' | 'now' | 'hold'>,
  signal: AbortSignal,
): Promise<Look> {
  const { namespace, shootName: name } = read.wanted;
  if (namespace === null) return { seen: { kind: 'absent' }, isReported: false };
  const known = reported.find({ namespace, name });
  if (known !== null && isEnough(read, known)) return { seen: observedFrom(read.wanted, known), isReported: true };
  return { seen: observedFrom(read.wanted, await garden.readShoot({ namespace, name }, signal)), isReported: false };
}

/**
 * A reported state is enough if no pass has seen it or a later one: it is news, and what comes after it is reported too. It is
 * also enough for an apply, which the garden refuses if the Shoot has changed since. What an operator reads during a hold is
 * read from the garden.
 */
export function isEnough({ wanted, now, hold }: Pick<DesiredRead, 'wanted' | 'now' | 'hold'>, shoot: Shoot): boolean {
  const { uid, resourceVersion } = shoot.metadata;
  if (hold !== null || wanted.known.shootUid !== uid) return false;
  if (isLaterVersion(resourceVersion, wanted.known.observedVersion)) return true;
  return decide(wanted, { kind: 'present', shoot }, now).do === 'applyShoot';
}
