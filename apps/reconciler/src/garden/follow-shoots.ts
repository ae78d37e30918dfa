import type { ClusterId } from '@corral/contracts';
import type { GardenClient, ListedShoot, Shoot, ShootEvent } from '@corral/garden';
import { LRUCache } from 'lru-cache';
import { observedHash } from '../clusters/observe.js';
import { managedSelector } from '../clusters/shoot-labels.js';
import type { HoldStore } from '../hold/hold-store.js';
import type { WakeUps } from '../loop/wake-ups.js';
import { ABSENT, type DueStore, type Sighting } from './due-store.js';
import type { ReportedShoots } from './reported-shoots.js';

export interface FollowDeps {
  readonly garden: Pick<GardenClient, 'watchShoots'>;
  readonly dueTimes: DueStore;
  readonly reported: Omit<ReportedShoots, 'find'>;
  readonly holds: Pick<HoldStore, 'noteUnknown' | 'noteListed'>;
  readonly wakeUps: Pick<WakeUps<ClusterId>, 'wakeAll'>;
  /** Time between two full lists. */
  readonly relistEveryMs: number;
  readonly onChanges: (source: 'list' | 'event' | 'missing', clusters: number) => void;
  readonly onWatching: (isWatching: boolean) => void;
  /** Called when a watch opens after an interruption. Never rejects. */
  readonly onReturn: () => Promise<void>;
}

const ROWS_PER_PAGE = 500;
/** Number of Shoots that are not parsed again while a list shows them unchanged, about 400 bytes each. */
const LISTED_MAX = 20_000;

/**
 * Follows all our Shoots until the signal aborts, and makes clusters due whose Shoot differs from what their last pass observed.
 * A list is compared page by page, so memory and calls do not grow with unchanged clusters. Only the names are kept, until the
 * missing Shoots are known.
 */
export const followShoots =
  ({ garden, dueTimes, reported, holds, wakeUps, relistEveryMs, onChanges, onWatching, onReturn }: FollowDeps) =>
  (signal: AbortSignal): Promise<void> => {
    let seenNames = new Set<string>();
    let isInterrupted = true;
    // What was seen in a listed Shoot, by the digest of its text. Parsing takes most of the time of a list.
    const listed = new LRUCache<string, Sighting>({ max: LISTED_MAX });
    const sightingIn = ({ digest, read }: ListedShoot): Sighting => {
      const known = listed.get(digest);
      if (known !== undefined) return known;
      const shoot = read();
      reported.note(shoot);
      const sighting = sightingOf(shoot);
      listed.set(digest, sighting);
      return sighting;
    };

    const compare = async (source: 'list' | 'event', seen: readonly Sighting[]): Promise<void> => {
      const ids = await dueTimes.makeChangedDue(seen);
      onChanges(source, ids.length);
      await wakeUps.wakeAll(ids);
    };
    const wakeMissing = async (): Promise<void> => {
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
      async onPage(shoots) {
        const seen = shoots.map(sightingIn);
        for (const { shootName } of seen) seenNames.add(shootName);
        await compare('list', seen);
        await holds.noteUnknown(seen);
      },
      async onListed() {
        reported.keepOnly(seenNames);
        await wakeMissing();
        await holds.noteListed();
        seenNames = new Set();
      },
      async onEvents(events) {
        for (const { type, shoot } of events) {
          if (type === 'gone') reported.forget(shoot.metadata);
          else reported.note(shoot);
        }
        // Of several that came together, only the last is compared, always: a pass may have seen another state in between.
        const seen = lastOfEach(events)
          .map(({ event, isOnly }) => ({ ...eventSighting(event), place: event.shoot.metadata, isOnly }))
          .filter(({ place, hash, isOnly }) => !isOnly || reported.findCompared(place) !== hash);
        if (seen.length > 0) await compare('event', seen);
        for (const { place, hash } of seen) reported.noteCompared(place, hash);
      },
      onState({ phase }) {
        if (phase === 'listing') {
          seenNames = new Set();
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

const keyOf = ({ metadata }: Shoot): string => `${metadata.namespace}/${metadata.name}`;

const eventSighting = ({ type, shoot }: ShootEvent): Sighting => ({
  ...sightingOf(shoot),
  ...(type === 'gone' && { hash: ABSENT }),
});

function lastOfEach(events: readonly ShootEvent[]): { event: ShootEvent; isOnly: boolean }[] {
  const last = new Map<string, { event: ShootEvent; isOnly: boolean }>();
  for (const event of events) {
    const key = keyOf(event.shoot);
    last.set(key, { event, isOnly: !last.has(key) });
  }
  return [...last.values()];
}
