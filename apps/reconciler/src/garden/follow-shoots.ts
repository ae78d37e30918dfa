import type { ClusterId } from '@corral/contracts';
import type { GardenClient, Shoot, ShootEvent } from '@corral/garden';
import { LRUCache } from 'lru-cache';
import { observedHash } from '../clusters/observe.js';
import { managedSelector } from '../clusters/shoot-labels.js';
import type { HoldStore } from '../hold/hold-store.js';
import type { WakeUps } from '../loop/wake-ups.js';
import { ABSENT, type DueStore, type Sighting } from './due-store.js';

export interface FollowDeps {
  readonly garden: Pick<GardenClient, 'watchShoots'>;
  readonly dueTimes: DueStore;
  readonly holds: Pick<HoldStore, 'noteListed'>;
  readonly wakeUps: Pick<WakeUps<ClusterId>, 'wakeAll'>;
  /** Time between two lists of all Shoots. */
  readonly relistEveryMs: number;
  readonly onChanges: (source: 'list' | 'event' | 'missing', clusters: number) => void;
  readonly onWatching: (isWatching: boolean) => void;
  /** Called when a watch opens after an interruption. Never rejects. */
  readonly onReturn: () => Promise<void>;
}

/** Missing Shoots that are woken at a time. */
const ROWS_PER_PAGE = 500;
/** Number of Shoots whose last reported state is kept, about 200 bytes each. More than change at the same time. */
const FOLLOWED_MAX = 2_000;

/**
 * Follows all our Shoots until the signal aborts, and makes clusters due whose Shoot differs from what their last pass observed.
 * A list is compared page by page. Of each Shoot only its names and digest are kept.
 */
export const followShoots =
  ({ garden, dueTimes, holds, wakeUps, relistEveryMs, onChanges, onWatching, onReturn }: FollowDeps) =>
  (signal: AbortSignal): Promise<void> => {
    let listed: Sighting[] = [];
    let isInterrupted = true;
    // The state that was compared last, by Shoot: most events during a run are progress only, which need no statement.
    const followed = new LRUCache<string, string>({ max: FOLLOWED_MAX });
    const compare = async (source: 'list' | 'event', seen: readonly Sighting[]): Promise<void> => {
      const ids = await dueTimes.makeChangedDue(seen);
      onChanges(source, ids.length);
      await wakeUps.wakeAll(ids);
    };
    const wakeMissing = async (): Promise<void> => {
      const seenNames = listed.map(({ shootName }) => shootName);
      for (let after: ClusterId | null = null; !signal.aborted; ) {
        const page = await dueTimes.makeMissingDue({ seenNames, limit: ROWS_PER_PAGE }, after);
        onChanges('missing', page.ids.length);
        await wakeUps.wakeAll(page.ids);
        after = page.next;
        if (after === null) return;
      }
    };
    return garden.watchShoots({
      labelSelector: managedSelector,
      relistEveryMs,
      signal,
      summarize: sightingOf,
      async onPage(seen) {
        for (const sighting of seen) listed.push(sighting);
        await compare('list', seen);
      },
      async onListed() {
        await wakeMissing();
        await holds.noteListed(listed);
      },
      async onEvents(events) {
        // The last of several is compared always: a pass may have seen another state in between.
        const seen = events.map(seenIn).filter(({ key, hash, isOnly }) => !isOnly || followed.get(key) !== hash);
        if (seen.length > 0) await compare('event', seen);
        for (const { key, hash } of seen) followed.set(key, hash);
      },
      onState({ phase }) {
        if (phase === 'listing') {
          listed = [];
          // The list may show what no event did.
          followed.clear();
        }
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

function seenIn({ type, shoot, isOnly }: ShootEvent<Sighting>) {
  const { namespace, shootName } = shoot;
  const hash = type === 'gone' ? ABSENT : shoot.hash;
  return { namespace, shootName, hash, isOnly, key: `${namespace}/${shootName}` };
}
