import { findHold, type Hold, type HoldFinding, type Pool } from '@corral/database';
import type { Sighting } from '../garden/due-store.js';

/** What was found during a hold about one thing. */
export interface Finding {
  /** `as_recorded` when nothing differs. */
  readonly finding: HoldFinding;
  /** A sentence for operators. */
  readonly message: string;
}

/** `Garden`: whether its Shoots were listed. `Shoot`: one without a row. */
export type TargetKind = 'Cluster' | 'AdoptedServer' | 'Shoot' | 'Garden';

/** The hold in force, and what passes find during it. A later finding about the same thing replaces the earlier one. */
export const holdStore = (pool: Pool) => ({
  find: (): Promise<Hold | null> => findHold(pool),

  async note(
    hold: Pick<Hold, 'id'>,
    targetKind: TargetKind,
    targetId: string,
    { finding, message }: Finding,
  ): Promise<void> {
    await pool.query(
      `INSERT INTO hold_finding (hold_id, target_kind, target_id, finding, message, found_at)
       SELECT id, $2, $3, $4, $5, clock_timestamp() FROM installation_hold WHERE id = $1
       ON CONFLICT (hold_id, target_kind, target_id)
       DO UPDATE SET finding = excluded.finding, message = excluded.message, found_at = excluded.found_at`,
      [hold.id, targetKind, targetId, finding, message],
    );
  },

  /** Notes that all Shoots were listed, and which of them have no row. Without a hold, this does nothing. */
  async noteListed(seen: readonly Pick<Sighting, 'namespace' | 'shootName'>[]): Promise<void> {
    const hold = await findHold(pool);
    if (hold === null) return;
    await pool.query(
      `INSERT INTO hold_finding (hold_id, target_kind, target_id, finding, message, found_at)
       SELECT hold.id, 'Shoot', seen.namespace || '/' || seen.shoot_name, 'unknown_shoot',
              'The garden has this Shoot with the labels of Corral, but the database has no cluster for it. Corral does not touch it.',
              clock_timestamp()
       FROM installation_hold hold, unnest($1::text[], $2::text[]) AS seen (namespace, shoot_name)
       WHERE hold.id = $3 AND hold.ended_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM cluster WHERE cluster.shoot_name = seen.shoot_name)
       ON CONFLICT (hold_id, target_kind, target_id) DO UPDATE SET found_at = excluded.found_at`,
      [seen.map(({ namespace }) => namespace), seen.map(({ shootName }) => shootName), hold.id],
    );
    const message = 'All Shoots of Corral were listed.';
    await this.note(hold, 'Garden', 'shoots', { finding: 'as_recorded', message });
  },
});
export type HoldStore = ReturnType<typeof holdStore>;

/** Runs `work` unless a hold is in force. For jobs that change something outside and have nothing to observe. */
export const unlessHeld =
  (holds: Pick<HoldStore, 'find'>, work: (signal: AbortSignal) => Promise<unknown>) =>
  async (signal: AbortSignal): Promise<void> => {
    if ((await holds.find()) === null) await work(signal);
  };
