import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CONSOLE_URL,
  PUBLIC_URL,
  startClusterApi,
  type TestClusterApi,
  type TestTeam,
} from '../support/start-cluster-api.js';

let test: TestClusterApi;
let team: TestTeam;
let number: number;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());
beforeEach(async () => {
  team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
  ({ number } = await test.db.team.findUniqueOrThrow({ where: { id: team.id } }));
});

const path = (id: string | number = number) => `/teams/api/teams/${id}/`;
const get = (user = team.admin) => test.api.as(user).get(path());
const put = (body: object, user = team.admin) => test.api.as(user).put(path()).send(body);
const audits = async () =>
  (await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } })).map(
    ({ action, targetName, changes, detail }) => ({ action, targetName, changes, detail }),
  );

describe('GET /teams/api/teams/{id}/', () => {
  it('answers the team with its members', async () => {
    const { body } = await get().expect(200);

    expect(body).toEqual({
      id: number,
      name: team.slug,
      slug: team.slug,
      is_admin: true,
      members: [
        expect.objectContaining({ display_name: team.admin.email, first_name: '', last_name: '', role: 'admin' }),
        expect.objectContaining({ display_name: team.member.email, role: 'member' }),
      ],
      invitations: [],
      dashboard_url: `${CONSOLE_URL}/teams/${team.slug}/`,
      subscription: {},
      has_active_subscription: false,
    });
  });

  it('links to the team in the API when there is no console', async () => {
    const bare = await startClusterApi({ config: { consoleUrl: () => null } });
    const { number: id } = await bare.db.team.findUniqueOrThrow({ where: { id: bare.acme.id } });
    const read = () => bare.api.as(bare.acme.admin).get(path(id)).expect(200);

    const { body } = await read();

    expect(body.dashboard_url).toBe(`${PUBLIC_URL}${path(id)}`);
    await bare.api.as(bare.acme.admin).put(path(id)).send(body).expect(200);
    await bare.close();
  });

  it('shows open invitations to administrators only', async () => {
    const invitations = `/a/${team.slug}/team/api/invitations/`;
    const { body: invited } = await test.api
      .as(team.admin)
      .post(invitations)
      .send({ email: 'ada@acme.test' })
      .expect(201);

    expect((await get()).body.invitations).toEqual([invited]);
    const { body } = await get(team.member).expect(200);
    expect([body.invitations, body.is_admin]).toEqual([[], false]);
    expect(JSON.stringify(body)).not.toContain('ada@acme.test');

    await test.db.invitation.updateMany({ where: { teamId: team.id }, data: { expiresAt: new Date() } });
    expect((await get()).body.invitations).toEqual([]);
  });

  it.each(['007', '+1', '1.0', '0', '-1', 'abc', '99999999999999999999', '%31%00', ' '])(
    'does not find a team with the number %j',
    async (id) => {
      await test.api
        .as(team.admin)
        .get(path(id === '007' ? `0${number}` : encodeURI(id).replaceAll('%25', '%')))
        .expect(404);
    },
  );

  it('does not find a team by its slug', async () => {
    await test.api.as(team.admin).get(path(team.slug)).expect(404);
  });
});

describe('GET /teams/api/teams/', () => {
  it('lists only the caller’s teams, in pages', async () => {
    const other = await test.createTeam(`a-${randomUUID().slice(0, 8)}`);
    const both = await test.createUser(`both@${team.slug}.test`, [
      { team, role: 'admin' },
      { team: other, role: 'member' },
    ]);

    const first = await test.api.as(both).get('/teams/api/teams/?limit=1').expect(200);
    const second = await test.api.as(both).get(`/teams/api/teams/?limit=1&cursor=${first.body.next}`).expect(200);

    const shown = [first, second].flatMap(({ body }) => body.items);
    expect(shown.map(({ slug, is_admin }) => [slug, is_admin])).toEqual([
      [other.slug, false],
      [team.slug, true],
    ]);
    expect(second.body.next).toBeNull();
  });
});

describe('PUT /teams/api/teams/{id}/', () => {
  it('renames the team in every answer', async () => {
    const { body } = await put({ name: 'Rocket — science' }).expect(200);

    expect(body).toMatchObject({ name: 'Rocket — science', slug: team.slug });
    expect((await get()).body).toEqual(body);
    expect((await test.api.as(team.member).get('/api/v1/teams/')).body.items[0].name).toBe('Rocket — science');
    expect(await audits()).toEqual([
      {
        action: 'team.rename',
        targetName: team.slug,
        changes: [{ pointer: '/name', from: team.slug, to: 'Rocket — science' }],
        detail: {},
      },
    ]);
  });

  it('writes nothing when nothing changes', async () => {
    await put({ name: 'Rockets' }).expect(200);
    await put({ name: 'Rockets', slug: team.slug }).expect(200);

    expect(await audits()).toHaveLength(1);
  });

  it('accepts the body of a GET with another name', async () => {
    await test.api.as(team.admin).post(`/a/${team.slug}/team/api/invitations/`).send({ email: 'ada@acme.test' });
    const { body: read } = await get();

    const { body } = await put({ ...read, name: 'Rockets' }).expect(200);

    expect(body).toEqual({ ...read, name: 'Rockets' });
  });

  it.each<[string, (read: { members: object[] }) => object, string]>([
    ['another slug', () => ({ slug: 'rockets' }), '/slug'],
    ['another number', () => ({ id: 1_000_000 }), '/id'],
    ['other members', ({ members }) => ({ members: members.slice(1) }), '/members'],
    ['a subscription', () => ({ subscription: { status: 'active' } }), '/subscription'],
    ['an active subscription', () => ({ has_active_subscription: true }), '/has_active_subscription'],
  ])('refuses %s and changes nothing', async (_what, change, pointer) => {
    const { body: read } = await get();

    const { body } = await put({ name: 'Rockets', ...change(read) }).expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['immutable_field', pointer]);
    expect((await get()).body).toEqual(read);
  });

  it.each<[string, object, string]>([
    ['no name', {}, '/name'],
    ['an empty name', { name: '' }, '/name'],
    ['a blank name', { name: '   ' }, '/name'],
    ['a name of two lines', { name: 'a\nBcc: all@acme.test' }, '/name'],
    ['a name with a carriage return', { name: 'a\rb' }, '/name'],
    ['a name with a line separator', { name: 'a\u2028b' }, '/name'],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, '/name'],
    ['a name that reverses the text behind it', { name: 'Rockets \u202e' }, '/name'],
    ['a name with an isolate', { name: 'Rockets \u2066' }, '/name'],
    ['a name with a character that nobody sees', { name: 'Rock\u200bets' }, '/name'],
    ['the slug of another team as a name', { name: 'globex' }, '/name'],
    ['a slug that no team has as a name', { name: 'no-team-of-ours' }, '/name'],
    ['an unknown field', { name: 'Rockets', owner: 1 }, '/owner'],
  ])('refuses %s', async (_what, body, pointer) => {
    const answer = await put(body).expect(422);

    expect([answer.body.code, answer.body.errors[0].pointer]).toEqual(['validation_failed', pointer]);
  });

  it('accepts its own slug as its name, and says so when it refuses another one', async () => {
    const { body } = await put({ name: 'globex' }).expect(422);
    await put({ name: team.slug }).expect(200);

    expect(body.detail).toBe(
      'name must not look like the slug of another team. Use a capital letter or a second word, or your own slug ' +
        `${team.slug}.`,
    );
  });

  it('is for administrators', async () => {
    await put({ name: 'Rockets' }, team.member).expect(403);
    await put({ name: 'Rockets' }, test.globex.admin).expect(404);
  });
});

describe('the entity tag of a team', () => {
  const tagOf = async () => (await get().expect(200)).headers.etag as string;

  it('still matches after a member joins, but not after a rename', async () => {
    const tag = await tagOf();
    await test.createUser(`ada@${team.slug}.test`, [{ team, role: 'member' }]);
    expect(await tagOf()).not.toBe(tag);

    const renamed = await put({ name: 'Acme' }).set('If-Match', tag).expect(200);
    expect(renamed.headers.etag).toBe(await tagOf());
    const { body } = await put({ name: 'Other' }).set('If-Match', tag).expect(412);

    expect(body.code).toBe('precondition_failed');
    expect((await get()).body.name).toBe('Acme');
  });

  it('allows conditional reads', async () => {
    await get()
      .set('If-None-Match', await tagOf())
      .expect(304);
  });
});
