import type { ClusterId } from '@corral/contracts';
import type { GardenClient, Shoot, ShootEvent } from '@corral/garden';
import { observedHash } from '../clusters/observe.js';
import { managedSelector } from '../clusters/shoot-labels.js';
import type { HoldStore } from '../hold/hold-store.js';
import type { WakeUps } from '../loop/wake-ups.js';
import { ABSENT, type DueStore, type Sighting } from './due-store.js';
import { type ListedShoots, listedShoots } from './listed-shoots.js';
import type { ReportedShoots } from './reported-shoots.js';

export interface FollowDeps {
  readonly garden: Pick<GardenClient, 'watchShoots'>;
  readonly dueTimes: DueStore;
  readonly reported: Omit<ReportedShoots, 'find'>;
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

/**
 * Follows all our Shoots until the signal aborts, and makes clusters due whose Shoot differs from what their last pass observed.
 * Of each Shoot only its names and digest are kept.
 *
 * Each list is compared with the rows: pages that have changed one by one as they come, the others at the end. Mostly a digest of all
 * Shoots is enough for these, and shows also that none is missing.
 */
export const followShoots =
  ({ garden, dueTimes, reported, holds, wakeUps, relistEveryMs, onChanges, onWatching, onReturn }: FollowDeps) =>
  (signal: AbortSignal): Promise<void> => {
    let pages: (readonly Sighting[])[] = [];
    let last: ListedShoots | null = null;
    let isInterrupted = true;
    const summarize = (shoot: Shoot): Sighting => {
      reported.note(shoot);
      return sightingOf(shoot);
    };
    const isKnown = (page: readonly Sighting[]): boolean => last?.pages.includes(page) === true;
    const compare = async (source: 'list' | 'event', seen: readonly Sighting[]): Promise<void> => {
      const ids = await dueTimes.makeChangedDue(seen);
      onChanges(source, ids.length);
      await wakeUps.wakeAll(ids);
    };
    const wakeMissing = async (seenNames: readonly string[]): Promise<void> => {
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
      summarize,
      async onPage(page) {
        pages.push(page);
        if (!isKnown(page)) await compare('list', page);
      },
      async onListed() {
        const known = pages.filter(isKnown);
        last = listedShoots(pages, last);
        reported.keepOnly(last.names);
        if (known.length === 0 || !(await dueTimes.agreesWith(last.digest))) {
          for (const page of known) await compare('list', page);
          await wakeMissing([...last.names]);
        }
        await holds.noteListed(pages.flat());
      },
      async onEvents(events) {
        for (const { type, shoot } of events) if (type === 'gone') reported.forget(placeOf(shoot));
        // The last of several is compared always: a pass may have seen another state in between.
        const seen = events
          .map(seenIn)
          .filter(({ hash, isOnly, place }) => !isOnly || reported.findCompared(place) !== hash);
        if (seen.length > 0) await compare('event', seen);
        for (const { place, hash } of seen) reported.noteCompared(place, hash);
      },
      onState({ phase }) {
        if (phase === 'listing') {
          pages = [];
          reported.clearCompared();
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

const placeOf = ({ namespace, shootName }: Sighting) => ({ namespace, name: shootName });

function seenIn({ type, shoot, isOnly }: ShootEvent<Sighting>) {
  const { namespace, shootName } = shoot;
  const hash = type === 'gone' ? ABSENT : shoot.hash;
  return { namespace, shootName, hash, isOnly, place: placeOf(shoot) };
}
