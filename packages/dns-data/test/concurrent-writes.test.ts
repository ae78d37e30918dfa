import { inTransaction, readClock } from '@corral/database';
import { waitFor } from '@corral/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type BeginOutcome, type NewWrite, zoneSyncStore } from '../src/index.js';
import {
  accepted,
  addOf,
  begin,
  bodyOf,
  createDemo,
  mirrorFixture,
  neverDelivered,
  newDemoWrite,
  newWrite,
  type TestDemo,
  writeAccepted,
} from './mirror-database.js';

const LEASE_MS = 20_000;
const given = mirrorFixture({
  quota: { recordsPerTeam: 10, recordsPerDemo: 10, recordsPerRrset: 10 },
  leaseMs: LEASE_MS,
});
let demo: TestDemo;
beforeEach(async () => {
  demo = await createDemo(given.database);
});

const ofTeam = (name = `b.${given.team.slug}`): NewWrite => newWrite(given.team, name, addOf(1));
const ofDemo = (name = `b.${demo.label}`): NewWrite => newDemoWrite(given.team, demo, name, addOf(1));

interface Change {
  /** Holds rows until the write waits, and so all that waits for them. */
  readonly holding: string;
  /** Waits for these rows. */
  readonly change?: () => Promise<unknown>;
}

const untilWaiting = (count: number) =>
  waitFor('statements to wait', async () => {
    const { rowCount } = await given.database.pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount === count;
  });

/** The outcome of a write that begins while a change is made, but not committed yet. */
async function beginDuring({ holding, change }: Change, write: NewWrite): Promise<BeginOutcome> {
  const { changed, begun } = await inTransaction(given.database.pool, async (tx) => {
    await tx.query(holding);
    const changed = change?.();
    if (changed !== undefined) await untilWaiting(1);
    const begun = given.ledger.begin(write, neverDelivered);
    await untilWaiting(changed === undefined ? 1 : 2);
    return { changed, begun };
  });
  await changed;
  return begun;
}

/** What is found upstream fills the quota. */
const observing = ({ key }: NewWrite): Change => ({
  holding: `SELECT FROM dns_rrset WHERE name = '${key.name}' FOR UPDATE`,
  async change() {
    const sync = zoneSyncStore(given.database.prisma);
    const reading = { key, found: bodyOf(key.name, 10), readAt: await sync.readClock() };
    await sync.observe(reading, { graceMs: 0, purpose: 'sync' });
  },
});

describe('a write that begins while something else changes what counts', () => {
  const isFull = { kind: 'refused', max: 10 };

  it('is decided on with the records that an earlier write has after its end', async () => {
    const earlier = ofTeam(`a.${given.team.slug}`);
    const lease = await begin(given.ledger, earlier);

    const ending = {
      holding: `SELECT FROM dns_audit_entry WHERE id = ${lease.entryId} FOR UPDATE`,
      change: () => given.ledger.finish(lease, earlier.key, accepted(bodyOf(earlier.key.name, 10))),
    };
    expect(await beginDuring(ending, ofTeam())).toMatchObject(isFull);
  });

  it('is decided on with the records that a sync finds upstream, those of a demo too', async () => {
    for (const write of [ofTeam, ofDemo]) {
      const earlier = write(`a.${write().key.name}`);
      await writeAccepted(given.ledger, earlier, bodyOf(earlier.key.name, 1));

      expect(await beginDuring(observing(earlier), write())).toMatchObject(isFull);
    }
  });

  it('does not begin after the suspension of its team', async () => {
    const holding = `UPDATE team SET suspended_at = now() WHERE id = '${given.team.id}'`;

    expect(await beginDuring({ holding }, ofTeam())).toEqual({ kind: 'suspended' });
  });

  it('has its whole lease, however long it waits to be entered', async () => {
    const { pool, prisma, entry } = given.database;
    const { entered, earliest } = await inTransaction(pool, async (tx) => {
      await tx.query('SELECT FROM team WHERE id = $1 FOR UPDATE', [given.team.id]);
      const entered = begin(given.ledger, ofTeam());
      await untilWaiting(1);
      return { entered, earliest: await readClock(prisma) };
    });

    const { lease_until: leaseUntil } = await entry((await entered).entryId);
    expect(leaseUntil?.getTime()).toBeGreaterThanOrEqual(earliest.getTime() + LEASE_MS);
  });

  it('does not begin after the end of its demo', async () => {
    const holding = `UPDATE demo SET ended_at = now(), clear_at = now() WHERE id = '${demo.owner.id}'`;

    expect(await beginDuring({ holding }, ofDemo())).toEqual({ kind: 'ended' });
  });
});
