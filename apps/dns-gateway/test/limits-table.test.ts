import { dnsTokenStore, TeamRuleError } from '@corral/auth';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectRefusal } from './support/expect-refusal.js';
import { type Answer, startGateway, type TestGateway, type TestTeam, ZONE } from './support/start-gateway.js';

/* The rows of the documented limits table, except request rates, which test/limits/ covers. */

let gateway: TestGateway;
let teams = 0;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const addresses = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({
    value: `10.0.${Math.floor((from + index) / 250)}.${(from + index) % 250}`,
  }));
const write = (team: TestTeam, action: string, body: object, name = 'set'): Promise<Answer> =>
  action === 'create'
    ? gateway.call('POST', `/zones/${ZONE}/rrsets`, {
        token: team.token,
        body: { name: `${name}.${team.slug}`, type: 'A', ...body },
      })
    : gateway.call('POST', `/zones/${ZONE}/rrsets/${name}.${team.slug}/A/actions/${action}`, {
        token: team.token,
        body,
      });

/** A new team with this many records, in sets `s0`, `s1`, … of at most 50. */
async function aTeamHolding(count: number): Promise<TestTeam> {
  teams += 1;
  const team = await gateway.createTeam(`team-${teams}`);
  for (let set = 0; set * 50 < count; set += 1) {
    const records = addresses(Math.min(50, count - set * 50));
    expect((await write(team, 'create', { records }, `s${set}`)).status).toBe(201);
  }
  return team;
}
const refusedPastTeam = async (send: () => Promise<Answer>) => {
  const answer = await expectRefusal(gateway, send, 403, 'resource_limit_exceeded');
  expect(answer.json.error.details).toEqual({ limits: [{ name: 'records_per_team' }] });
};
const refusedPastSet = async (send: () => Promise<Answer>) => {
  const answer = await expectRefusal(gateway, send, 403, 'resource_limit_exceeded');
  expect(answer.json.error.details).toEqual({ limits: [{ name: 'records_per_rrset' }] });
};

describe('the limit of 200 records per team', () => {
  it('is reached by any write and exceeded by none', async () => {
    const team = await aTeamHolding(199);
    expect((await write(team, 'add_records', { records: addresses(1, 100) }, 's3')).status).toBe(201);

    await refusedPastTeam(() => write(team, 'create', { records: addresses(1) }, 'more'));
    await refusedPastTeam(() => write(team, 'add_records', { records: addresses(1) }, 'more'));
  });

  it('allows writes that do not increase the number of records', async () => {
    const team = await aTeamHolding(200);

    expect((await write(team, 'set_records', { records: addresses(50, 500) }, 's0')).status).toBe(201);
    expect((await write(team, 'change_ttl', { ttl: 600 }, 's0')).status).toBe(201);
    expect((await write(team, 'remove_records', { records: addresses(20, 500) }, 's0')).status).toBe(201);
    expect((await write(team, 'create', { records: addresses(20) }, 'more')).status).toBe(201);
    await refusedPastTeam(() => write(team, 'set_records', { records: addresses(21) }, 'more'));
  });

  it('has room again after a deletion', async () => {
    const team = await aTeamHolding(200);
    const path = `/zones/${ZONE}/rrsets/s1.${team.slug}/A`;
    expect((await gateway.call('DELETE', path, { token: team.token })).status).toBe(201);

    expect((await write(team, 'create', { records: addresses(50) }, 'more')).status).toBe(201);
    await refusedPastTeam(() => write(team, 'create', { records: addresses(1) }, 'again'));
  });

  it('counts records created outside the gateway, and none of other teams', async () => {
    const team = await aTeamHolding(100);
    gateway.cloud.admin.putRrset(ZONE, `by-hand.${team.slug}`, 'MX', { records: addresses(99) });
    await gateway.syncZone();

    expect((await write(team, 'create', { records: addresses(1) }, 'more')).status).toBe(201);
    await refusedPastTeam(() => write(team, 'create', { records: addresses(1) }, 'again'));
    expect((await write(gateway.acme, 'create', { records: addresses(1) })).status).toBe(201);
  });

  it('is exceeded by a single large write too', async () => {
    const team = await aTeamHolding(180);

    await refusedPastTeam(() => write(team, 'create', { records: addresses(21) }, 'more'));
    expect((await write(team, 'create', { records: addresses(20) }, 'more')).status).toBe(201);
  });
});

describe('the limit of 50 records per record set', () => {
  it('is reached by any write and exceeded by none', async () => {
    const team = await aTeamHolding(0);
    await refusedPastSet(() => write(team, 'create', { records: addresses(51) }));
    expect((await write(team, 'create', { records: addresses(49) })).status).toBe(201);

    await refusedPastSet(() => write(team, 'add_records', { records: addresses(2, 100) }));
    expect((await write(team, 'add_records', { records: addresses(1, 100) })).status).toBe(201);
    await refusedPastSet(() => write(team, 'add_records', { records: addresses(1, 200) }));
    await refusedPastSet(() => write(team, 'set_records', { records: addresses(51) }));
    expect((await write(team, 'set_records', { records: addresses(50, 300) })).status).toBe(201);
    await refusedPastSet(() => write(team, 'add_records', { records: addresses(51) }, 'absent'));
  });
});

describe('the limit of 4,096 characters per value', () => {
  /** Quoted strings of at most 255 bytes, as the upstream requires. */
  const quoted = (characters: number) => {
    const full = `"${'x'.repeat(255)}"`;
    const rest = characters - 15 * (full.length + 1);
    return `${`${full} `.repeat(15)}"${'x'.repeat(rest - 2)}"`;
  };
  const create = (value: string) => () =>
    gateway.call('POST', `/zones/${ZONE}/rrsets`, { body: { name: 'long.acme', type: 'TXT', records: [{ value }] } });

  it('is accepted, and returned unchanged', async () => {
    const value = quoted(4_096);
    expect(value).toHaveLength(4_096);

    expect((await create(value)()).status).toBe(201);

    const { json } = await gateway.call('GET', `/zones/${ZONE}/rrsets/long.acme/TXT`);
    expect(json.rrset.records).toEqual([{ value, comment: '' }]);
  });

  it('cannot be exceeded', async () => {
    await expectRefusal(gateway, create(quoted(4_097)), 400, 'invalid_input');
    for (const action of ['set_records', 'add_records', 'remove_records']) {
      const body = { records: [{ value: quoted(4_097) }] };
      const path = `/zones/${ZONE}/rrsets/long.acme/TXT/actions/${action}`;
      await expectRefusal(gateway, () => gateway.call('POST', path, { body }), 400, 'invalid_input');
    }
  });
});

describe('the limit of 5 active tokens per team', () => {
  it('cannot be exceeded, and has room again after a revocation', async () => {
    const team = await gateway.createTeam('tokens');
    const tokens = dnsTokenStore(gateway.prisma);
    const [first] = [team.tokenId];
    for (let count = 2; count <= 5; count += 1) await gateway.issueToken(team);

    await expect(gateway.issueToken(team)).rejects.toThrow(TeamRuleError);
    expect(await tokens.revokeToken(team, first)).toBe(true);
    const { token } = await gateway.issueToken(team);

    expect((await gateway.call('GET', '/zones', { token })).status).toBe(200);
    expect((await gateway.call('GET', '/zones', { token: team.token })).status).toBe(401);
  });
});

describe('per_page', () => {
  it('is 25 by default, and at most 50', async () => {
    const team = await gateway.createTeam('pages');
    for (let set = 0; set < 60; set += 1) {
      gateway.cloud.admin.putRrset(ZONE, `s${set}.pages`, 'A', { records: addresses(1) });
    }
    await gateway.syncZone();
    const sizes = async (query: string) => {
      const { json } = await gateway.call('GET', `/zones/${ZONE}/rrsets${query}`, { token: team.token });
      const { per_page, last_page, total_entries } = json.meta.pagination;
      return [json.rrsets.length, per_page, last_page, total_entries];
    };

    expect(await sizes('')).toEqual([25, 25, 3, 60]);
    expect(await sizes('?page=3')).toEqual([10, 25, 3, 60]);
    expect(await sizes('?per_page=50')).toEqual([50, 50, 2, 60]);
    expect(await sizes('?per_page=51')).toEqual([50, 50, 2, 60]);
    expect(await sizes('?per_page=1000&page=2')).toEqual([10, 50, 2, 60]);
  });
});
