import { areEventsKept, readEvents } from '@corral/cluster-data';
import type { TeamId, WebhookId } from '@corral/contracts';
import { type Prisma, readClock } from '@corral/database';
import type { KeyRing } from '@corral/secrets';
import { backoffMs, type CallGuard, type Log, spreadMs } from '@corral/service';
import { retry } from '../loop/claim.js';
import { failureOf, type Message, messageOfEvent, messageOfNotice, signedHeaders } from './message.js';
import type { ClaimedWebhook, WebhookProgress, WebhookStore } from './store.js';

interface DeliverDeps {
  readonly prisma: Prisma;
  readonly store: WebhookStore;
  readonly keys: KeyRing;
  readonly call: CallGuard['call'];
  readonly onOutcome: (outcome: 'accepted' | 'failed') => void;
  readonly log: Log;
}

/** Number of events per read. */
const PAGE = 100;
/** Time limit of one attempt. */
const CALL_MS_MAX = 10_000;
/** Longer than an attempt. Another process takes over after it. */
const LEASE_MS = 60_000;
/** Other webhooks have their turn after this time: the sweep sends the jobs of those due longest first. */
const PASS_MS = 20_000;
/** Passes of one team at the same time in a process, which has 16: receivers that answer slowly delay only their own team. */
const TEAM_PASSES = 4;

/** Passes over webhooks. One more than its team may have does nothing, and the webhook stays due. */
export function deliverWebhooks(deps: DeliverDeps) {
  const passes = new Map<TeamId, number>();
  const deliver = deliverWebhook(deps);
  return async (id: WebhookId, signal: AbortSignal): Promise<void> => {
    const team = await deps.store.teamOf(id);
    if (team === null || (passes.get(team) ?? 0) >= TEAM_PASSES) return;
    const count = (more: 1 | -1) => passes.set(team, (passes.get(team) ?? 0) + more);
    count(1);
    await deliver(id, signal).finally(() => count(-1));
  };
}

/**
 * Posts what a webhook has not had, one message after the other, until one is not accepted. Each is delivered at least once: one that
 * was accepted but not recorded is sent again with the same id.
 */
const deliverWebhook =
  (deps: DeliverDeps) =>
  async (id: WebhookId, signal: AbortSignal): Promise<void> => {
    const { prisma, store } = deps;
    const endsAt = performance.now() + PASS_MS;
    let webhook = await store.claim(id, LEASE_MS);
    if (webhook !== null) webhook = await noticingLoss(deps, webhook);
    if (webhook?.notice) {
      const { kind, at } = webhook.notice;
      webhook = await deliver(
        deps,
        webhook,
        messageOfNotice(id, kind, at, webhook.team.slug),
        { notice: null },
        signal,
      );
    }
    while (webhook !== null) {
      const { team, kinds, position } = webhook;
      const page = await readEvents(prisma, team.id, position, PAGE);
      const wanted = page.events.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
      for (const event of wanted) {
        if (webhook === null) return;
        if (signal.aborted || performance.now() > endsAt) return store.release(webhook);
        const progress = { position: event.position };
        webhook = await deliver(deps, webhook, messageOfEvent(event, team.slug), progress, signal);
      }
      webhook = webhook && (await store.advance(webhook, { position: page.until }, LEASE_MS));
      if (webhook !== null && !page.isFull) return store.release(webhook);
    }
  };

/** When events are gone that were not sent, the receiver is told, and what follows begins now. */
async function noticingLoss({ prisma, store, log }: DeliverDeps, webhook: ClaimedWebhook) {
  if (await areEventsKept(prisma, webhook.team.id, webhook.position)) return webhook;
  log.warn('events for a webhook are lost', { webhookId: webhook.id, team: webhook.team.slug });
  const { until: position } = await readEvents(prisma, webhook.team.id, null, 0);
  const notice = { kind: 'reset', at: await readClock(prisma) } as const;
  return store.advance(webhook, { position, notice }, LEASE_MS);
}

/** @returns null when the pass is over: the message was not accepted, or somebody else has the webhook */
async function deliver(
  deps: DeliverDeps,
  webhook: ClaimedWebhook,
  message: Message,
  progress: WebhookProgress,
  signal: AbortSignal,
): Promise<ClaimedWebhook | null> {
  const { store, onOutcome, log } = deps;
  const failure = await attempt(deps, webhook, message, signal);
  if (failure !== null && signal.aborted) {
    await store.release(webhook);
    return null;
  }
  onOutcome(failure === null ? 'accepted' : 'failed');
  if (failure === null) return store.advance(webhook, { ...progress, isAccepted: true }, LEASE_MS);
  const againMs = Math.round(spreadMs(backoffMs(webhook.failures, retry), Math.random()));
  // The log leaves out the URL, which may hold a secret of the receiver.
  log.info('message of a webhook not accepted', { webhookId: webhook.id, team: webhook.team.slug, failure, againMs });
  await store.recordFailure(webhook, failure, againMs);
  return null;
}

/** @returns why it failed, or null */
async function attempt(
  { prisma, keys, call }: DeliverDeps,
  { id, url, sealedSecrets, previousSecretUntil }: ClaimedWebhook,
  message: Message,
  signal: AbortSignal,
): Promise<string | null> {
  const texts = keys.openOrNull(sealedSecrets, id)?.split(' ');
  if (texts === undefined) return 'secret unreadable';
  const now = await readClock(prisma);
  const secrets = previousSecretUntil !== null && previousSecretUntil > now ? texts : texts.slice(0, 1);
  const payload = JSON.stringify(message.body);
  const headers = signedHeaders(message.id, payload, secrets, now);
  const body = { type: 'application/json', bytes: Buffer.from(payload) };
  return failureOf(await call(new URL(url), { method: 'POST', headers, body }, { msMax: CALL_MS_MAX, signal }));
}
