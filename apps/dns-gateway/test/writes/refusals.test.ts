import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, startGateway, type TestGateway, ZONE } from '../support/start-gateway.js';

let gateway: TestGateway;
let replica: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ recordsPerTeam: 2 });
  replica = await startGateway({ beside: gateway, recordsPerTeam: 2 });
});
afterAll(async () => {
  await replica.close();
  await gateway.close();
});

const create = (name: string, { through = gateway, type = 'A', value = '192.0.2.1' } = {}): Promise<Answer> =>
  through.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type, records: [{ value }] } });

/** The counted refusals of a name over all minutes. Each minute has one entry. */
async function counted(name: string) {
  const { rows } = await gateway.pool.query(
    `SELECT type, operation, state::text, refusal_code AS code, team_id = $2 AS own, token_id IS NOT NULL AS token,
            sum(count)::int AS count, count(*) = count(DISTINCT minute) AS once, count(request_body)::int AS bodies
     FROM dns_audit_entry WHERE name = $1 GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY type, operation, code`,
    [name, gateway.acme.id],
  );
  return rows;
}
const of = (code: string, count: number, more: object = {}) => ({
  type: 'A',
  operation: 'create',
  state: 'unsent',
  code,
  own: true,
  token: true,
  count,
  once: true,
  bodies: 0,
  ...more,
});

describe('a write that is refused before it is sent', () => {
  it('is counted for a name of another team, by all gateways in one entry per minute', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => create('web.globex', { through: at % 2 === 0 ? gateway : replica })),
    );

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
    expect(await counted('web.globex')).toEqual([of('forbidden', 40)]);
  });

  it('is counted for a type that no token may write, and for each operation', async () => {
    await create('mail.acme', { type: 'MX', value: '10 mail' });
    for (const action of ['set_records', 'add_records']) {
      const path = `/zones/${ZONE}/rrsets/mail.acme/MX/actions/${action}`;
      expect((await gateway.call('POST', path, { body: { records: [{ value: '10 mail' }] } })).status).toBe(403);
    }
    await gateway.call('DELETE', `/zones/${ZONE}/rrsets/mail.acme/MX`);
    await gateway.call('PUT', `/zones/${ZONE}/rrsets/mail.acme/MX`, { body: { labels: {} } });

    expect(await counted('mail.acme')).toEqual(
      ['add_records', 'create', 'delete', 'set_records', 'update'].map((operation) =>
        of('forbidden', 1, { type: 'MX', operation }),
      ),
    );
  });

  it('is counted when the quota has no room for it', async () => {
    expect((await create('one.acme')).status).toBe(201);
    expect((await create('two.acme')).status).toBe(201);

    for (let last = 1; last <= 3; last += 1) {
      expect((await create('three.acme', { value: `192.0.2.${last}` })).status).toBe(403);
    }

    expect(await counted('three.acme')).toEqual([of('resource_limit_exceeded', 3)]);
  });

  it('is counted with a name that Postgres cannot store', async () => {
    expect((await create('a\u0000b')).status).toBe(403);

    expect(await counted('a\ufffdb')).toEqual([of('forbidden', 1)]);
  });

  it('is not counted when its body cannot be read', async () => {
    const body = { name: 'unread.acme', type: 'A', records: 'none' };
    expect((await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body })).status).toBe(400);

    expect(await counted('unread.acme')).toEqual([]);
  });
});

describe('the audit log of a write', () => {
  const requestIds = async (name: string) => {
    const { rows } = await gateway.pool.query('SELECT request_id FROM dns_audit_entry WHERE name = $1 ORDER BY id', [
      name,
    ]);
    return rows.map((row) => row.request_id);
  };
  const idOf = ({ headers }: Answer) => headers.get('x-correlation-id');

  it('has the same request ID as the answer, for accepted, refused and unsent writes', async () => {
    const { token } = await gateway.createTeam('named');
    const body = { name: 'www.named', type: 'A', records: [{ value: '192.0.2.1' }] };
    const ask = () => gateway.call('POST', `/zones/${ZONE}/rrsets`, { token, body });
    const [accepted, refused] = [await ask(), await ask()];
    const foreign = await create('named.globex');

    expect([accepted.status, refused.status, foreign.status]).toEqual([201, 409, 403]);
    expect(await requestIds('www.named')).toEqual([idOf(accepted), idOf(refused)]);
    expect(await requestIds('named.globex')).toEqual([idOf(foreign)]);
  });

  it('has the ID of the last request when it counts several', async () => {
    const answers = [await create('often.globex'), await create('often.globex')];

    expect((await requestIds('often.globex')).at(-1)).toBe(idOf(answers[1] as Answer));
  });
});
