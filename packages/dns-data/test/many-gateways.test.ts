import { connectPrisma, type Prisma } from '@corral/database';
import { patientTransactions } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type NewWrite, type WriteLease, writeLedger, zoneSyncStore } from '../src/index.js';
import { recordCountOf } from '../src/rrset.js';
import {
  accepted,
  addOf,
  bodyOf,
  createDemo,
  mirrorFixture,
  neverDelivered,
  newDemoWrite,
  newWrite,
  type TestDemo,
  type TestTeam,
} from './mirror-database.js';

const QUOTA = 10;
const GATEWAYS = 4;
const given = mirrorFixture();

/** Refuses an entry, once it is in the ledger, that no rule could have admitted in view of all that is committed. */
const guard = `
  CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    of_set dns_rrset;
    label text = substring(NEW.name FROM '[^.]+$');
    held int = (SELECT coalesce(sum(record_count), 0) FROM dns_rrset WHERE zone_id = NEW.zone_id AND owner_label = label)
      + (SELECT coalesce(sum(reserved_records), 0) FROM dns_audit_entry
         WHERE state = 'pending' AND coalesce(demo_id, team_id) = coalesce(NEW.demo_id, NEW.team_id));
  BEGIN
    SELECT * INTO of_set FROM dns_rrset WHERE zone_id = NEW.zone_id AND name = NEW.name AND type = NEW.type;
    ASSERT NEW.before_body IS NOT DISTINCT FROM of_set.body, 'the set is another one';
    ASSERT NEW.reserved_records = 0 OR held <= ${QUOTA}, 'the quota is exceeded';
    ASSERT NOT EXISTS (SELECT FROM team WHERE id = NEW.team_id AND suspended_at IS NOT NULL), 'the team is suspended';
    ASSERT NOT EXISTS (SELECT FROM demo WHERE id = NEW.demo_id AND ended_at IS NOT NULL), 'the demo has ended';
    RETURN NULL;
  END $$;
  CREATE TRIGGER guard AFTER INSERT ON dns_audit_entry FOR EACH ROW WHEN (NEW.state = 'pending') EXECUTE FUNCTION guard()`;

const gateways: Prisma[] = [];
beforeAll(async () => {
  await given.database.pool.query(guard);
  for (let at = 0; at < GATEWAYS; at += 1) gateways.push(connectPrisma(given.database.url, patientTransactions));
});
afterAll(() => Promise.all(gateways.map((prisma) => prisma.$disconnect())));

type Owners = { readonly team: TestTeam; readonly demo: TestDemo };

const step = fc.record({
  what: fc.constantFrom('write', 'write', 'write', 'find', 'suspend', 'resume', 'end demo' as const),
  of: fc.constantFrom('team', 'demo' as const),
  set: fc.nat(2),
  count: fc.integer({ min: 1, max: 6 }),
  end: fc.constantFrom('as expected', 'larger', 'refused', 'unsent' as const),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function writeOf({ of, set, count }: Step, { team, demo }: Owners): NewWrite {
  const write = addOf(count, 100);
  return of === 'team'
    ? newWrite(team, `n${set}.${team.slug}`, write)
    : newDemoWrite(team, demo, `n${set}.${demo.label}`, write);
}

/** @returns the kind of the outcome of a write that began or not */
async function take(one: Step, owners: Owners, prisma: Prisma): Promise<string> {
  const write = writeOf(one, owners);
  const { pool } = given.database;
  switch (one.what) {
    case 'write': {
      const quota = { recordsPerTeam: QUOTA, recordsPerDemo: QUOTA, recordsPerRrset: QUOTA };
      const ledger = writeLedger(prisma, { quota, leaseMs: 20_000, replayMs: 0 });
      const outcome = await ledger.begin(write, neverDelivered);
      if (outcome.kind === 'begun') await ledger.finish(outcome.lease, write.key, endOf(one, write, outcome.lease));
      return outcome.kind;
    }
    case 'find': {
      const sync = zoneSyncStore(prisma);
      const reading = { key: write.key, found: bodyOf(write.key.name, one.count), readAt: await sync.readClock() };
      await sync.observe(reading, { graceMs: 0, purpose: 'sync' });
      return 'found';
    }
    case 'end demo':
      await pool.query('UPDATE demo SET ended_at = now(), clear_at = now() WHERE id = $1 AND ended_at IS NULL', [
        owners.demo.owner.id,
      ]);
      return one.what;
    default:
      await pool.query(`UPDATE team SET suspended_at = ${one.what === 'suspend' ? 'now()' : 'NULL'} WHERE id = $1`, [
        owners.team.id,
      ]);
      return one.what;
  }
}

function endOf({ end, count }: Step, { key }: NewWrite, { current }: WriteLease) {
  if (end === 'unsent') return { state: end, code: 'unavailable' } as const;
  if (end === 'refused') return { state: end, status: 409, body: '{}', recheck: false } as const;
  // Others may have added records upstream.
  const records = recordCountOf(current) + count + (end === 'larger' ? 3 : 0);
  return accepted(bodyOf(key.name, records), { status: 'success' });
}

it('gateways that write for the same owners exceed no quota, and begin nothing that may not begin', async () => {
  const kinds = new Set<string>();
  const plans = fc.array(fc.array(step, { minLength: 12, maxLength: 12 }), {
    minLength: GATEWAYS,
    maxLength: GATEWAYS,
  });
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const owners = { team: await given.database.createTeam(), demo: await createDemo(given.database) };
      await Promise.all(
        plan.map(async (steps, at) => {
          for (const one of steps) kinds.add(await take(one, owners, gateways[at] as Prisma));
        }),
      );
    }),
    { numRuns: 10, endOnFailure: true },
  );

  expect([...kinds]).toEqual(expect.arrayContaining(['begun', 'refused', 'suspended', 'ended']));
});
