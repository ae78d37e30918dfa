import type { ClusterId } from '@corral/contracts';
import type { GardenClient, Shoot, ShootEvent } from '@corral/garden';
import { observedHash } from '../clusters/observe.js';
import { managedSelector } from '../clusters/shoot-labels.js';
import type { HoldStore } from '../hold/hold-store.js';
import type { RowJobs } from '../loop/due-rows.js';
import { ABSENT, type DueStore, type Sighting } from './due-store.js';

export interface FollowDeps {
  readonly garden: Pick<GardenClient, 'watchShoots'>;
  readonly dueTimes: DueStore;
  readonly holds: Pick<HoldStore, 'noteListed'>;
  readonly wake: RowJobs<ClusterId>['wake'];
  /** Time between two lists of all Shoots. */
  readonly relistEveryMs: number;
  readonly onChanges: (source: 'list' | 'event' | 'missing', clusters: number) => void;
  readonly onWatching: (isWatching: boolean) => void;
  /** Called when a watch opens after an interruption. Never rejects. */
  readonly onReturn: () => Promise<void>;
}

/** Missing Shoots that are woken at a time. */
const ROWS_PER_PAGE = 500;

/**
 * Follows all our Shoots until the signal aborts, and makes clusters due whose Shoot differs from what their last pass observed.
 * Of each Shoot only its names and digest are kept.
 */
export const followShoots =
  ({ garden, dueTimes, holds, wake, relistEveryMs, onChanges, onWatching, onReturn }: FollowDeps) =>
  (signal: AbortSignal): Promise<void> => {
    let listed: Sighting[] = [];
    let isInterrupted = true;
    const compare = async (source: 'list' | 'event', seen: readonly Sighting[]): Promise<void> => {
      const ids = await dueTimes.makeChangedDue(seen);
      onChanges(source, ids.length);
      await wake(ids);
    };
    const wakeMissing = async (seenNames: readonly string[]): Promise<void> => {
      for (let after: ClusterId | null = null; !signal.aborted; ) {
        const page = await dueTimes.makeMissingDue({ seenNames, limit: ROWS_PER_PAGE }, after);
        onChanges('missing', page.ids.length);
        await wake(page.ids);
        after = page.next;
        if (after === null) return;
      }
    };
    return garden.watchShoots({
      labelSelector: managedSelector,
      relistEveryMs,
      signal,
      async onPage(shoots) {
        const page = shoots.map(sightingOf);
        listed.push(...page);
        await compare('list', page);
      },
      async onListed() {
        await wakeMissing(listed.map(({ shootName }) => shootName));
        await holds.noteListed(listed);
      },
      onEvents: (events) => compare('event', events.map(seenIn)),
      onState({ phase }) {
        if (phase === 'listing') listed = [];
        if (phase === 'waiting') isInterrupted = true;
        if (phase === 'watching' && isInterrupted) {
          isInterrupted = false;
          void onReturn();
        }
        onWatching(phase === 'watching');
      },
    });
  };

function sightingOf(shoot: Shoot): Sighting {
  const { namespace, name } = shoot.metadata;
  return { namespace, shootName: name, hash: observedHash(shoot) };
}

function seenIn({ type, shoot }: ShootEvent): Sighting {
  return type === 'gone' ? { ...sightingOf(shoot), hash: ABSENT } : sightingOf(shoot);
}
