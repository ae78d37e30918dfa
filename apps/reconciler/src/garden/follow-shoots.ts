import type { ClusterId } from '@corral/contracts';
import { type Pool, rowClock } from '@corral/database';
import type { GardenClient, Shoot, ShootEvent } from '@corral/garden';
import { sleep } from '@corral/service';
import { managedSelector } from '../clusters/model.js';
import { observedHash } from '../clusters/observe.js';
import type { HoldStore } from '../loop/hold.js';
import type { RowJobs } from '../loop/sweep.js';

export interface FollowDeps {
  readonly garden: GardenClient;
  readonly dueTimes: DueStore;
  readonly holds: HoldStore;
  readonly wake: RowJobs<ClusterId>['wake'];
  /** Time between two lists of all Shoots. */
  readonly relistEveryMs: number;
  readonly onChanges: (source: 'list' | 'event' | 'missing', clusters: number) => void;
  readonly onWatching: (isWatching: boolean) => void;
  /** Called when a watch opens after an interruption. Never rejects. */
  readonly onReturn: () => Promise<void>;
}

/** What comes within this time is compared together: a garden reports a change that is under way again and again. */
const GATHER_MS = 100;
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
      await wake(ids, signal);
    };
    const wakeMissing = async (seenNames: readonly string[]): Promise<void> => {
      for (let after: ClusterId | null = null; !signal.aborted; ) {
        const page = await dueTimes.makeMissingDue({ seenNames, limit: ROWS_PER_PAGE }, after);
        onChanges('missing', page.ids.length);
        await wake(page.ids, signal);
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
      async onEvents(events) {
        await compare('event', events.map(seenIn));
        await sleep(GATHER_MS, signal);
      },
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

/** Used instead of a hash when the Shoot does not exist. */
export const ABSENT = 'absent';

/** An observation of one Shoot. */
interface Sighting {
  readonly namespace: string;
  readonly shootName: string;
  /** `observedHash` of the Shoot, or `ABSENT`. */
  readonly hash: string;
}

/** The place where the Shoot of a cluster is, or will be. */
export interface WaitingShoot {
  /** Null until the Project is ready. */
  readonly namespace: string | null;
  readonly name: string;
  /** The time since which the newest waits, in ISO 8601. */
  readonly newestSince: string;
}

/** Makes a row due now, and never later than before. */
const dueNow = 'due_at = least(due_at, clock_timestamp())';

/**
 * Whether the last pass observed something else. A running pass may have read the Shoot before this observation without having
 * recorded its own yet, so a match with the previous pass proves nothing.
 */
const isUnseen = (hash: string): string => `(observed_hash IS DISTINCT FROM ${hash} OR lease_until IS NOT NULL)`;

/** A lease that has ended without being freed belongs to a pass that is gone. */
const isLeased = `coalesce(lease_until > ${rowClock}, false)`;

/** Makes clusters due after changes outside the database. All functions return the ids to wake. */
export const dueStore = (pool: Pool) => ({
  /**
   * Clusters whose last pass saw another state. A steady cluster costs nothing more. For a cluster that has a pass now, the state is
   * noted: only the pass knows whether it has seen the same, and wakes the next one if not.
   */
  async makeChangedDue(seen: readonly Sighting[]): Promise<ClusterId[]> {
    const { rows } = await pool.query<{ id: ClusterId; leased: boolean }>({
      name: 'make-changed-clusters-due',
      text: `UPDATE cluster
       SET due_at = CASE WHEN ${isLeased} THEN due_at ELSE least(due_at, clock_timestamp()) END,
           sighted_hash = CASE WHEN ${isLeased} THEN seen.hash END
       FROM unnest($1::text[], $2::text[], $3::text[]) AS seen (namespace, shoot_name, hash), team
       WHERE cluster.shoot_name = seen.shoot_name AND team.id = cluster.team_id
         AND team.project_namespace = seen.namespace AND ${isUnseen('seen.hash')}
         AND NOT (${isLeased} AND sighted_hash IS NOT DISTINCT FROM seen.hash)
       RETURNING cluster.id, ${isLeased} AS leased`,
      values: [
        seen.map(({ namespace }) => namespace),
        seen.map(({ shootName }) => shootName),
        seen.map(({ hash }) => hash),
      ],
    });
    return rows.filter(({ leased }) => !leased).map(({ id }) => id);
  },

  /**
   * Finds the clusters after `after`, by id, whose Shoot UID is recorded and that were not in the list.
   *
   * Clusters whose last pass found the Shoot absent are skipped, unless a pass is working on them.
   *
   * @returns with the position to continue after, or null at the end
   */
  async makeMissingDue(
    { seenNames, limit }: { seenNames: readonly string[]; limit: number },
    after: ClusterId | null,
  ): Promise<{ ids: ClusterId[]; next: ClusterId | null }> {
    const { rows } = await pool.query<{ id: ClusterId }>(
      `UPDATE cluster SET ${dueNow}
       WHERE id IN (
         SELECT id FROM cluster
         WHERE shoot_uid IS NOT NULL AND ${isUnseen('$1')} AND ($2::uuid IS NULL OR id > $2)
           AND NOT EXISTS (SELECT FROM unnest($4::text[]) AS seen (name) WHERE seen.name = cluster.shoot_name)
         ORDER BY id LIMIT $3)
       RETURNING id`,
      [ABSENT, after, limit, seenNames],
    );
    const ids = rows.map(({ id }) => id).sort();
    return { ids, next: ids.length < limit ? null : (ids.at(-1) ?? null) };
  },

  /** Any cluster whose last pass failed for one of these reasons, or null. */
  async findWaiting(reasons: readonly string[]): Promise<WaitingShoot | null> {
    const { rows } = await pool.query<WaitingShoot>(
      `SELECT team.project_namespace AS namespace, cluster.shoot_name AS name,
              max(cluster.waiting->>'since') OVER () AS "newestSince"
       FROM cluster JOIN team ON team.id = cluster.team_id
       WHERE cluster.waiting->>'reason' = ANY ($1) ORDER BY random() LIMIT 1`,
      [reasons],
    );
    return rows[0] ?? null;
  },
});
export type DueStore = ReturnType<typeof dueStore>;
