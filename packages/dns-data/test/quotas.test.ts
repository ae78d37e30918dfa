import { beforeAll, describe, expect, it } from '@jest/globals';
import { type ActionStore, actionStore, type RrsetWrite } from '../src/index.js';
import {
  addOf,
  begin,
  bodyOf,
  keyOf,
  mirrorFixture,
  neverDelivered,
  newWrite,
  observeLater,
  type TestTeam,
  writeAccepted,
} from './mirror-database.js';

describe('the records of a team', () => {
  const given = mirrorFixture();

  async function holding(team: TestTeam, count: number): Promise<void> {
    for (let left = count, at = 0; left > 0; left -= 50, at += 1) {
      const name = `held${at}.${team.slug}`;
      const size = Math.min(left, 50);
      await writeAccepted(given.ledger, newWrite(team, name, addOf(size)), bodyOf(name, size));
    }
  }

  it('are counted against the quota of the team, if it has one', async () => {
    const team = await given.database.createTeam('generous');
    const setQuota = (max: number | null) =>
      given.database.pool.query('UPDATE team SET dns_records_max = $2 WHERE slug = $1', [team.slug, max]);
    const beginOne = async () => {
      const outcome = await given.ledger.begin(newWrite(team, `more.${team.slug}`, addOf(1)), neverDelivered);
      if (outcome.kind === 'begun')
        await given.ledger.finish(outcome.lease, keyOf(`more.${team.slug}`), {
          state: 'unsent',
          code: 'rate_limit_exceeded',
        });
      return outcome;
    };
    await holding(team, 200);

    expect(await beginOne()).toMatchObject({ kind: 'refused', max: 200 });
    await setQuota(201);
    expect(await beginOne()).toMatchObject({ kind: 'begun' });
    await setQuota(10);
    expect(await beginOne()).toMatchObject({ kind: 'refused', limit: 'recordsPerTeam', max: 10 });
    await setQuota(null);
    expect(await beginOne()).toMatchObject({ kind: 'refused', max: 200 });
  });

  it('are reserved for a write whose outcome is unknown, until it is known', async () => {
    const team = await given.database.createTeam('uncertain');
    await holding(team, 195);
    const lease = await begin(given.ledger, newWrite(team, `a.${team.slug}`, addOf(5)));
    await given.ledger.release(lease, 60_000, null);
    const another = newWrite(team, `b.${team.slug}`, addOf(1));

    expect(await given.ledger.begin(another, neverDelivered)).toMatchObject({ kind: 'refused' });
    await given.ledger.finish(lease, keyOf(`a.${team.slug}`), {
      state: 'refused',
      status: 409,
      body: '{}',
      recheck: false,
    });

    expect(await given.ledger.begin(another, neverDelivered)).toMatchObject({ kind: 'begun' });
  });

  it('do not count against another team', async () => {
    const [full, other] = [await given.database.createTeam('full'), await given.database.createTeam('other')];
    await holding(full, 200);

    expect(await given.ledger.begin(newWrite(other, 'a.other', addOf(50)), neverDelivered)).toMatchObject({
      kind: 'begun',
    });
  });
});

describe('freed records', () => {
  const given = mirrorFixture({ quota: { recordsPerTeam: 10, recordsPerDemo: 20, recordsPerRrset: 10 } });

  let actions: ActionStore;
  beforeAll(() => {
    actions = actionStore(given.database.prisma);
  });

  /** An accepted write that leaves `left` records in its set. @returns its action and its entry */
  async function write(name: string, of: RrsetWrite, left: number, status = 'running') {
    return writeAccepted(given.ledger, newWrite(given.team, name, of), left === 0 ? null : bodyOf(name, left), {
      status,
    });
  }

  const grow = (name: string, count: number, from = 0) => write(name, addOf(count, from), count, 'success');
  const remove = (name: string) => write(name, { operation: 'delete' }, 0);
  const read = (name: string, found: string | null) => observeLater(given.database, name, found);
  const end = (id: number, status: string) => actions.recordActions([{ id, status, body: '{}' }]);
  const admits = async (count: number, name = `b.${given.team.slug}`) =>
    (await given.ledger.begin(newWrite(given.team, name, addOf(count, 100)), neverDelivered)).kind === 'begun';

  describe('records freed by a write', () => {
    it("stay reserved while the write's action runs, because it may still fail", async () => {
      const name = `a.${given.team.slug}`;
      await grow(name, 10);
      const { id } = await remove(name);

      const early = await given.ledger.begin(newWrite(given.team, `b.${given.team.slug}`, addOf(1)), neverDelivered);

      expect(early).toEqual({ kind: 'refused', limit: 'recordsPerTeam', max: 10, reservedByActions: true });
      await end(id, 'success');
      expect(await admits(10)).toBe(true);
    });

    it('stay reserved after the action failed, until the set is read again', async () => {
      const name = `a.${given.team.slug}`;
      await grow(name, 10);
      const { id } = await remove(name);
      await end(id, 'error');
      expect(await admits(1)).toBe(false);

      await read(name, null); // as if the set had been deleted by hand meanwhile

      expect(await admits(10)).toBe(true);
    });

    it('can be reused by a write to the same set, which the upstream applies later', async () => {
      const name = `a.${given.team.slug}`;
      await grow(name, 10);
      await remove(name);

      const again: RrsetWrite = { operation: 'set_records', records: [{ value: '192.0.2.77' }] };
      expect(await given.ledger.begin(newWrite(given.team, name, again), neverDelivered)).toMatchObject({
        kind: 'begun',
      });
    });

    it('count once, however many writes to the set are in progress', async () => {
      const name = `a.${given.team.slug}`;
      await grow(name, 8);
      const first = await remove(name);
      const second = await write(name, { operation: 'set_records', records: [{ value: '192.0.2.0' }] }, 1);
      const third = await remove(name);

      expect(await admits(3)).toBe(false);
      await end(first.id, 'success');
      await end(second.id, 'success');
      expect(await admits(3)).toBe(false);
      await end(third.id, 'success');
      expect(await admits(10)).toBe(true);
    });
  });

  describe('a failed action', () => {
    it('is reported once, with the set of its write', async () => {
      const name = `a.${given.team.slug}`;
      const { id, entryId } = await write(name, addOf(1), 1);

      expect(await end(id, 'error')).toEqual([{ entryId, key: keyOf(name) }]);
      expect(await end(id, 'error')).toEqual([]);
    });
  });
});
