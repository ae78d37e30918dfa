import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection, beginFirstPass, declare, declareDraft } from '../support/clusters.js';
import { aSubscription, signed } from '../support/sign-billing.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

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
    team = await test.createTeam();
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

      const { body } = await team.asAdmin.get('/audit/?kind=subscription').expect(200);
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
      ['a time in the future', () => ({ stated_at: new Date(Date.now() + 600_000).toISOString() }), '/stated_at'],
      ['an impossible date', () => ({ stated_at: '2026-02-30T00:00:00Z' }), '/stated_at'],
      [
        'an impossible start date',
        () => ({ subscription: aSubscription({ start_date: '2026-13-01T00:00:00Z' }) }),
        '/subscription/start_date',
      ],
    ])('is refused with %s', async (_what, more, pointer) => {
      const { body } = await post(JSON.stringify(anEvent(more()))).expect(422);

      expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
      expect(await shown()).toEqual([{}, false]);
    });
  });

  describe('the webhook', () => {
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
    await declareDraft(test.acme, 'draft');

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
    for (const name of ['runs', 'pending']) await declare(test.acme, name);
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
