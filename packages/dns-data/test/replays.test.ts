import { checkDnsAnswer } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { type BeginOutcome, copyStore, type DeliveryCheck, settlementStore, type WriteEnd } from '../src/index.js';
import {
  accepted,
  addOf,
  begin,
  bodyOf,
  keyOf,
  mirrorFixture,
  neverDelivered,
  newWrite,
  writeAccepted,
} from './mirror-database.js';

const given = mirrorFixture();

const sendAgain = (wasDelivered: DeliveryCheck = neverDelivered): Promise<BeginOutcome> =>
  given.ledger.begin(newWrite(given.team, given.name, addOf(1)), wasDelivered);

async function ended(end: WriteEnd): Promise<number> {
  const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));
  await given.ledger.finish(lease, keyOf(given.name), end);
  return lease.entryId;
}

const completedAgo = (entryId: number, seconds: number) =>
  given.database.pool.query(
    'UPDATE dns_audit_entry SET completed_at = completed_at - make_interval(secs => $2) WHERE id = $1',
    [entryId, seconds],
  );

describe('a repeated request', () => {
  it('gets the undelivered answer byte for byte', async () => {
    const end = accepted(bodyOf(given.name, 1));
    const entryId = await ended(end);

    const again = { kind: 'replayed', entryId, status: 201, body: end.body };
    expect(await sendAgain()).toEqual(again);
    expect(await sendAgain()).toEqual(again);
  });

  it('gets the undelivered refusal', async () => {
    const body = '{"error":{"code":"conflict"}}';
    const entryId = await ended({ state: 'refused', status: 409, body, recheck: false });

    expect(await sendAgain()).toEqual({ kind: 'replayed', entryId, status: 409, body });
  });

  it.each([
    ['this process saw its answer delivered', async () => undefined, (() => true) as DeliveryCheck],
    ['another process recorded the delivery', (id: number) => given.ledger.markAnswered([id]), neverDelivered],
  ])('is a new write once %s', async (_what, deliver, wasDelivered) => {
    await deliver(await ended(accepted(bodyOf(given.name, 1))));

    expect(await sendAgain(wasDelivered)).toMatchObject({ kind: 'begun' });
  });

  it('is a new write after the first certainly did not reach the upstream', async () => {
    await ended({ state: 'unsent', code: 'upstream_unavailable' });

    expect(await sendAgain()).toMatchObject({ kind: 'begun' });
  });

  it('is a new write after another write to the set', async () => {
    await ended(accepted(bodyOf(given.name, 1)));
    await writeAccepted(given.ledger, newWrite(given.team, given.name, { operation: 'delete' }), null);

    expect(await sendAgain()).toMatchObject({ kind: 'begun' });
  });

  it('is unaffected by a write to another set', async () => {
    const entryId = await ended(accepted(bodyOf(given.name, 1)));
    const other = `b.${given.name}`;
    await writeAccepted(given.ledger, newWrite(given.team, other, addOf(1)), bodyOf(other, 1));

    expect(await sendAgain()).toMatchObject({ kind: 'replayed', entryId });
  });

  it('is a new write with another token or body', async () => {
    await ended(accepted(bodyOf(given.name, 1)));

    const asAnother = newWrite(given.team, given.name, addOf(1), 'with another token');
    expect(await given.ledger.begin(asAnother, neverDelivered)).toMatchObject({ kind: 'begun' });
  });

  it('gets the first answer within a minute, and is a new write after that', async () => {
    const entryId = await ended(accepted(bodyOf(given.name, 1)));

    await completedAgo(entryId, 55);
    expect(await sendAgain()).toMatchObject({ kind: 'replayed' });
    await completedAgo(entryId, 6);

    expect(await sendAgain()).toMatchObject({ kind: 'begun' });
  });
});

describe('a repeated request whose first copy was settled', () => {
  async function settled(found: string | null, applied: boolean): Promise<number> {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));
    await given.ledger.release(lease, -1_000, null);
    const store = settlementStore(given.database.prisma);
    const due = await store.takePending(100, 10_000);
    const mine = due.find(({ entryId }) => entryId === lease.entryId);
    if (mine === undefined) throw new Error('The released write is not due');
    await store.settle(mine, { found, applied, at: new Date(), recheckAfterMs: 60_000 });
    return lease.entryId;
  }

  it("gets an answer in the upstream's shape when the effect was found", async () => {
    const entryId = await settled(bodyOf(given.name, 1), true);

    const again = await sendAgain();

    expect(again).toMatchObject({ kind: 'replayed', entryId, status: 201 });
    const body = again.kind === 'replayed' ? JSON.parse(again.body) : null;
    checkDnsAnswer.action(body);
    expect(body.action).toMatchObject({ status: 'success', command: 'add_rrset_records' });
  });

  it('is a new write when the effect was not found', async () => {
    await settled(null, false);

    expect(await sendAgain()).toMatchObject({ kind: 'begun' });
  });
});

describe('the first copy of a request', () => {
  const copies = () => copyStore(given.database.prisma, 60_000);
  const request = (of = addOf(1)) => newWrite(given.team, given.name, of);

  it('is found while in progress, and replayed once it has ended undelivered', async () => {
    const lease = await begin(given.ledger, request());
    expect(await copies().findCopy(request(), neverDelivered)).toEqual({
      kind: 'pending',
      entryId: lease.entryId,
      isDue: false,
    });
    expect(await copies().findCopy(request(addOf(2)), neverDelivered)).toBeNull();

    const end = accepted(bodyOf(given.name, 1));
    await given.ledger.finish(lease, keyOf(given.name), end);

    const replayed = { kind: 'replayed', entryId: lease.entryId, status: 201, body: end.body };
    expect(await copies().findCopy(request(), neverDelivered)).toEqual(replayed);
    expect(await copies().findCopy(request(), () => true)).toBeNull();
  });

  it('can be followed past later writes to the set, even when its client has the answer', async () => {
    const lease = await begin(given.ledger, request());
    const end = accepted(bodyOf(given.name, 1));
    await given.ledger.finish(lease, keyOf(given.name), end);
    await given.ledger.markAnswered([lease.entryId]);
    await begin(given.ledger, request(addOf(2)));

    expect(await copies().findCopy(request(), neverDelivered)).toBeNull();
    expect(await copies().followCopy(request(), lease.entryId)).toMatchObject({ kind: 'replayed', body: end.body });
  });

  it('cannot be followed when it certainly had no effect', async () => {
    const lease = await begin(given.ledger, request());
    await given.ledger.finish(lease, keyOf(given.name), { state: 'unsent', code: 'upstream_unavailable' });

    expect(await copies().followCopy(request(), lease.entryId)).toBeNull();
  });

  it('is due for settlement when its holder is gone', async () => {
    const lease = await begin(given.ledger, request());
    await given.ledger.release(lease, 0, null);

    expect(await copies().followCopy(request(), lease.entryId)).toMatchObject({ kind: 'pending', isDue: true });
  });
});
