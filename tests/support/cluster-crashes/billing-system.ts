import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { BillingEvent } from '@corral/contracts';
import fc from 'fast-check';
import { callClusterApi } from '../clusters/call-api.js';
import { signIn, untilAnswered } from '../clusters/client.js';
import type { ClusterSystem } from '../clusters/start-cluster-system.js';
import { drawer } from '../crashes/crash-plan.js';
import { type Delivery, findBillingContradictions, type ShownSubscription } from './judge-billing.js';
import type { Sideline, Stage } from './sideline.js';

const SECRET = 'a-secret-of-the-billing-system';
/** The secrets for every API that takes part. */
export const billingEnv = { BILLING_WEBHOOK_SECRETS: SECRET } as const;

const PATIENCE_MS = 90_000;
/** The largest number of concurrent deliveries of one team. */
const LANES = 2;
/** A stated time must not lie in the future. The clock of the billing system is this much slow, and never catches up. */
const SLOW_BY_MS = 86_400_000;

interface Statement {
  /** Null when the team no longer has a subscription. */
  readonly status: string | null;
  readonly quantity: number;
  readonly active: boolean | null;
  /** One entry per delivery. The smallest goes first. */
  readonly order: readonly number[];
}

/** Events of about the same time, which are delivered in any order. */
const burstArbitrary: fc.Arbitrary<{ statements: Statement[]; thinkMs: number }> = fc.record({
  statements: fc.array(
    fc.record({
      status: fc.constantFrom('active', 'active', 'trialing', 'past_due', 'canceled', null),
      quantity: fc.integer({ min: 1, max: 50 }),
      active: fc.option(fc.boolean(), { freq: 1 }),
      order: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  thinkMs: fc.integer({ min: 200, max: 1_500 }),
});

/** Reports the subscription of each team: repeatedly, in any order, and again until the API accepts it. */
export function billingSystem(system: ClusterSystem, seed: number): Sideline {
  const deliveries: Delivery[] = [];
  return {
    needed: ['applied', 'duplicate', 'outdated'],
    async run(stage) {
      await Promise.all(
        system.teams.map(({ slug }, index) => tellOf(slug, { system, seed: seed + index, stage, deliveries })),
      );
    },
    findContradictions: async (changes) =>
      findBillingContradictions(changes, { deliveries, shown: await shownSubscriptions(system) }),
  };
}

interface Telling {
  readonly system: ClusterSystem;
  readonly seed: number;
  readonly stage: Stage;
  readonly deliveries: Delivery[];
}

async function tellOf(team: string, { system, seed, stage, deliveries }: Telling): Promise<void> {
  const next = drawer(burstArbitrary, seed);
  const begunAt = Date.now() - SLOW_BY_MS;
  let stated = 0;
  let sent = 0;
  while (!stage.isOver()) {
    const { statements, thinkMs } = next();
    const copies = statements.flatMap((statement) => {
      stated += 1;
      const event = eventOf(team, statement, { number: stated, at: new Date(begunAt + stated * 1_000) });
      return statement.order.map((place) => ({ event, place }));
    });
    const waiting = copies.sort((one, other) => one.place - other.place).map(({ event }) => event);
    const lane = async (): Promise<void> => {
      for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
        sent += 1;
        const delivery = await deliver(system, event, sent).catch((error: unknown) => stage.report(String(error)));
        if (!delivery) continue;
        deliveries.push(delivery);
        stage.count(delivery.outcome);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    await pause(thinkMs);
  }
}

function eventOf(
  team: string,
  { status, quantity, active }: Statement,
  { number, at }: { number: number; at: Date },
): BillingEvent {
  const subscription =
    status === null
      ? null
      : {
          id: `sub_${team}`,
          display_name: 'Team plan',
          billing_interval: 'month',
          status,
          quantity,
          items: [],
          start_date: '2026-01-01T00:00:00Z',
          cancel_at_period_end: false,
          current_period_start: '2026-11-01T00:00:00Z',
          current_period_end: '2026-12-01T00:00:00Z',
        };
  return {
    id: `evt_${team}_${number}`,
    stated_at: at.toISOString(),
    team,
    subscription,
    ...(active === null || status === null ? {} : { active }),
  };
}

/** @throws Error for an answer that makes a billing system give up */
async function deliver({ apis }: ClusterSystem, event: BillingEvent, number: number): Promise<Delivery> {
  let turn = number;
  const send = () => {
    turn += 1;
    const base = apis[turn % apis.length]?.base ?? '';
    const headers = { 'corral-signature': signatureOf(JSON.stringify(event)) };
    return callClusterApi(base, { method: 'POST', path: '/billing/webhook/', body: event, headers });
  };
  const answer = await untilAnswered(send, { what: `event ${event.id}`, timeoutMs: PATIENCE_MS });
  if (answer.status !== 200) throw new Error(`event ${event.id} was answered ${answer.status} ${answer.text}`);
  return { event, outcome: answer.json.outcome, tries: answer.tries };
}

function signatureOf(body: string): string {
  const seconds = Math.floor(Date.now() / 1_000);
  return `t=${seconds},v1=${createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex')}`;
}

/** The subscription that a member of each team sees. */
function shownSubscriptions({ teams, apis }: ClusterSystem): Promise<ShownSubscription[]> {
  const base = apis[0]?.base ?? '';
  return Promise.all(
    teams.map(async ({ slug }) => {
      const cookie = await signIn(base, `member@${slug}.test`);
      const { json } = await callClusterApi(base, { method: 'GET', path: '/teams/api/teams/', headers: { cookie } });
      const [shown] = json.items;
      const { status = null, quantity = null } = shown.subscription;
      return { team: slug, isActive: shown.has_active_subscription, status, quantity };
    }),
  );
}
