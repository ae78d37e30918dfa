import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection, beginFirstPass, declare, declareDraft } from '../support/clusters.js';
import { aSubscription, signed } from '../support/sign-billing.js';
import {
  CONSOLE_URL,
  PUBLIC_URL,
  startClusterApi,
  type TestClusterApi,
  type TestTeam,
} from '../support/start-cluster-api.js';

describe('teams', () => {
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

    it.each(['007', '+1'])('does not find a team with the number %j', async (id) => {
      await test.api
        .as(team.admin)
        .get(path(id === '007' ? `0${number}` : encodeURI(id).replaceAll('%25', '%')))
        .expect(404);
    });

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
      ['a name with a line separator', { name: 'a\u2028b' }, '/name'],
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
});

describe('billing', () => {
  const SECRETS = ['the-new-secret-of-billing', 'the-old-secret-of-billing'] as const;
  let test: TestClusterApi;
  let team: TestTeam;
  let number: number;
  beforeAll(async () => {
    test = await startClusterApi({ config: { billingSecrets: SECRETS } });
  });
  afterAll(() => test.close());
  beforeEach(async () => {
    team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
    ({ number } = await test.db.team.findUniqueOrThrow({ where: { id: team.id } }));
  });

  const anEvent = (more: object = {}) => ({
    id: `evt_${randomUUID()}`,
    stated_at: '2026-11-21T10:00:00Z',
    team: team.slug,
    subscription: aSubscription(),
    ...more,
  });
  /** Sends the body as text, because its exact bytes are signed. */
  const post = (body: string, signature: string | undefined = signed(body, SECRETS[0])) => {
    const sent = test.api.post('/billing/webhook/').set('Content-Type', 'application/json');
    return (signature === undefined ? sent : sent.set('Corral-Signature', signature)).send(body);
  };
  const sendEvent = async (more: object = {}) => (await post(JSON.stringify(anEvent(more))).expect(200)).body.outcome;
  const shown = async (user = team.member) => {
    const { body } = await test.api.as(user).get(`/teams/api/teams/${number}/`).expect(200);
    return [body.subscription, body.has_active_subscription];
  };

  describe('a billing event', () => {
    it('updates the subscription that the team sees, without internal fields', async () => {
      expect(await sendEvent()).toBe('applied');

      const [subscription, isActive] = await shown();
      expect(isActive).toBe(true);
      expect(subscription).toEqual({
        id: 'sub_1',
        display_name: 'Team plan',
        billing_interval: 'month',
        status: 'active',
        quantity: 3,
        start_date: '2026-01-01T00:00:00.000Z',
        cancel_at_period_end: false,
        current_period_start: '2026-11-01T00:00:00.000Z',
        current_period_end: '2026-11-30T23:00:00.000Z',
        items: [
          {
            id: 'si_1',
            quantity: 3,
            price: {
              id: 'price_1',
              product_name: 'Clusters',
              human_readable_price: '€ 49.00 / month',
              payment_amount: '49.00',
              unit_amount: 4900,
            },
          },
        ],
      });
    });

    it('does not store, log or answer internal fields', async () => {
      await sendEvent({ note: 'INTERNAL-note', subscription: aSubscription({ margin: 'INTERNAL-margin' }) });

      const { rows } = await test.pool.query(
        'SELECT subscription::text AS row FROM subscription UNION ALL SELECT audit_entry::text FROM audit_entry',
      );
      expect(JSON.stringify(rows)).toContain('sub_1');
      expect(JSON.stringify([rows, await shown(team.admin)])).not.toMatch(/INTERNAL|nickname/);
    });

    it('names the team by slug or number', async () => {
      expect(await sendEvent({ team: number })).toBe('applied');
      expect((await shown())[1]).toBe(true);
    });

    it.each([
      ['active', undefined, true],
      ['trialing', undefined, true],
      ['past_due', undefined, false],
      ['canceled', undefined, false],
      ['past_due', true, true],
      ['active', false, false],
    ])('with status %s and active %s sets has_active_subscription to %s', async (status, active, isActive) => {
      await sendEvent({ subscription: aSubscription({ status }), ...(active === undefined ? {} : { active }) });

      expect((await shown())[1]).toBe(isActive);
    });

    it('can end the subscription', async () => {
      await sendEvent();

      expect(await sendEvent({ subscription: null, stated_at: '2026-11-21T11:00:00Z' })).toBe('applied');

      expect(await shown()).toEqual([{}, false]);
    });

    it('is processed once', async () => {
      const event = anEvent();
      const body = JSON.stringify(event);
      await post(body).expect(200);
      await sendEvent({ subscription: aSubscription({ status: 'canceled' }), stated_at: '2026-11-21T10:00:01Z' });

      const again = await Promise.all([post(body), post(body)]);

      expect(again.map(({ body: { outcome } }) => outcome)).toEqual(['duplicate', 'duplicate']);
      expect((await shown())[1]).toBe(false);
    });

    it('is ignored when it is older than the stored state', async () => {
      expect(await sendEvent({ subscription: null, stated_at: '2026-11-21T12:00:00Z' })).toBe('applied');
      expect(await sendEvent({ stated_at: '2026-11-21T11:59:59.999Z' })).toBe('outdated');
      expect(await shown()).toEqual([{}, false]);
      expect(await sendEvent({ stated_at: '2026-11-21T13:00:00+01:00' })).toBe('applied');
      expect((await shown())[1]).toBe(true);
    });

    it('is in the team’s audit log without a user', async () => {
      await sendEvent();

      const { body } = await test.api.as(team.admin).get(team.path('/audit/?kind=subscription')).expect(200);
      expect(body.items).toEqual([
        expect.objectContaining({
          action: 'subscription.state',
          actor: { kind: 'service', id: null, name: null },
          target: { kind: 'Subscription', id: team.id, name: 'sub_1' },
        }),
      ]);
    });

    it('of a team that does not exist yet gets 404 and is applied when it is sent again', async () => {
      const slug = `t-${randomUUID().slice(0, 8)}`;
      const body = JSON.stringify(anEvent({ team: slug }));
      expect((await post(body).expect(404)).body.code).toBe('not_found');
      expect((await post(JSON.stringify(anEvent({ team: 2_000_000_000 }))).expect(404)).body.code).toBe('not_found');

      await test.createTeam(slug);

      expect((await post(body).expect(200)).body.outcome).toBe('applied');
    });

    it.each<[string, () => object, string]>([
      ['no time', () => ({ stated_at: undefined }), '/stated_at'],
      ['a time in the future', () => ({ stated_at: new Date(Date.now() + 600_000).toISOString() }), '/stated_at'],
      ['an impossible date', () => ({ stated_at: '2026-02-30T00:00:00Z' }), '/stated_at'],
      ['no id', () => ({ id: '' }), '/id'],
      ['an id that is too long', () => ({ id: 'x'.repeat(256) }), '/id'],
      ['no subscription', () => ({ subscription: undefined }), '/subscription'],
      [
        'an impossible start date',
        () => ({ subscription: aSubscription({ start_date: '2026-13-01T00:00:00Z' }) }),
        '/subscription/start_date',
      ],
      ['a flag that is not a boolean', () => ({ active: 'yes' }), '/active'],
    ])('is refused with %s', async (_what, more, pointer) => {
      const { body } = await post(JSON.stringify(anEvent(more()))).expect(422);

      expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
      expect(await shown()).toEqual([{}, false]);
    });
  });

  describe('the webhook', () => {
    it('accepts a signature with any of the secrets', async () => {
      const body = JSON.stringify(anEvent());

      await post(body, signed(body, SECRETS[1])).expect(200);
    });

    it.each<[string, (body: string) => string | undefined]>([
      ['is not signed', () => undefined],
      ['is signed with an unknown secret', (body) => signed(body, 'a-secret-of-somebody-else')],
    ])('refuses an event that %s', async (_what, sign) => {
      const body = JSON.stringify(anEvent());
      const sent = test.api.post('/billing/webhook/').set('Content-Type', 'application/json');
      const signature = sign(body);
      if (signature !== undefined) sent.set('Corral-Signature', signature);

      const answer = await sent.send(body).expect(403);

      expect(answer.body.code).toBe('invalid_signature');
      expect(await shown()).toEqual([{}, false]);
    });

    it('does not parse an unsigned body', async () => {
      expect((await post('{"a":', 't=1,v1=0').expect(403)).body.code).toBe('invalid_signature');
      expect((await post('{"a":').expect(400)).body.code).toBe('invalid_json');
    });

    it('is not found without secrets', async () => {
      const other = await startClusterApi();
      try {
        const body = JSON.stringify(anEvent());

        await other.api
          .post('/billing/webhook/')
          .set({ 'Content-Type': 'application/json', 'Corral-Signature': signed(body, '') })
          .send(body)
          .expect(404);
      } finally {
        await other.close();
      }
    });
  });
});

describe('where a subscription is required', () => {
  let test: TestClusterApi;
  beforeAll(async () => {
    test = await startClusterApi({ config: { subscriptionRequired: true } });
    await addConnection(test, test.acme);
  });
  afterAll(() => test.close());

  const member = () => test.api.as(test.acme.member);
  const put = (name: string, query = '') =>
    member()
      .put(test.acme.path(`/clusters/${name}/${query}`))
      .send({ spec: aClusterSpec() });
  const putPool = (cluster: string, name: string) =>
    member()
      .put(test.acme.path(`/clusters/${cluster}/node-pools/${name}/`))
      .send({ spec: aPool({ name }) });
  const setActive = (isActive: boolean) => {
    const columns = { isActive, body: {}, statedAt: new Date() };
    const teamId = test.acme.id;
    return test.db.subscription.upsert({ where: { teamId }, create: { teamId, ...columns }, update: columns });
  };
  it('a team without one can declare drafts but not start them', async () => {
    await test.db.subscription.deleteMany();
    await declareDraft(test, test.acme, 'draft');

    const refused = [
      await put('web'),
      await put('web', '?dryRun=true'),
      await put('draft'),
      await putPool('draft', 'general'),
    ];

    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
      refused.map(() => [403, 'subscription_required']),
    );
    const where = { name: { in: ['web', 'draft'] } };
    expect(await test.db.cluster.findMany({ where, select: { name: true, phase: true } })).toEqual([
      { name: 'draft', phase: 'Draft' },
    ]);
  });

  it('a lapse does not restrict changes, hibernation and resumption of started clusters', async () => {
    await setActive(true);
    for (const name of ['runs', 'pending']) await declare(test, test.acme, name);
    await beginFirstPass(test, test.acme, 'runs');

    await setActive(false);

    for (const name of ['runs', 'pending']) {
      await putPool(name, 'batch').expect(201);
      await member()
        .post(test.acme.path(`/clusters/${name}/hibernate/`))
        .expect(202);
      await member()
        .post(test.acme.path(`/clusters/${name}/resume/`))
        .expect(202);
    }
    expect((await put('another')).body.code).toBe('subscription_required');
  });
});
