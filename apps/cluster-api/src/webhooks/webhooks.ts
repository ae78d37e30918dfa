import { randomBytes, randomUUID } from 'node:crypto';
import { comparePositions, keptSince, readEvents } from '@corral/cluster-data';
import { clusterLimits, parseTime, textRules, type WebhookSpec } from '@corral/contracts';
import type { KeyRing } from '@corral/secrets';
import type { CallGuard } from '@corral/service';
import { requireAdminNow } from '../accounts/store.js';
import { changesOf, recordAudit } from '../audit/record-audit.js';
import type { PersonCaller } from '../changes/caller.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import { found, invalidField, Problem } from '../problem.js';
import {
  changeWebhook,
  countWebhooks,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  positionAt,
  saveSecrets,
  type WebhookRecord,
} from './store.js';

/** A new secret, as Standard Webhooks write it. */
const mintSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

const HOUR_MS = 3_600_000;

interface PutWebhook {
  readonly changeTeam: ChangeTeam;
  readonly secrets: KeyRing;
  readonly webhookGuard: Pick<CallGuard, 'refusalOfUrl'>;
}

/**
 * Creates a webhook, whose events begin now, or changes it. Messages that wait go to a changed URL.
 *
 * @returns the secret of a new one: the only place where the text is available
 * @throws Problem `validation_failed`, `quota_exceeded`, `not_found`, `permission_denied`
 */
export async function putWebhook(
  { changeTeam, secrets, webhookGuard }: PutWebhook,
  caller: PersonCaller,
  name: string,
  spec: WebhookSpec,
): Promise<{ readonly webhook: WebhookRecord; readonly secret: string | null }> {
  const refusal = URL.canParse(spec.url) ? webhookGuard.refusalOfUrl(new URL(spec.url)) : textRules.webhookUrl.must;
  if (refusal !== null) throw invalidField('validation_failed', '/spec/url', refusal);
  return changeTeam(caller, async (tx, now) => {
    const teamId = caller.team.id;
    await requireAdminNow(tx, caller);
    const present = await findWebhook(tx, teamId, name);
    const changes = changesOf(present && partsOf(present.spec), partsOf(spec));
    if (present !== null) {
      if (changes.length === 0) return { webhook: present, secret: null };
      const webhook = await changeWebhook(tx, teamId, present.id, { spec }, now);
      await recordAudit(tx, caller, { action: 'webhook.change', target: targetOf(webhook), changes });
      return { webhook, secret: null };
    }
    if ((await countWebhooks(tx, teamId)) >= clusterLimits.webhooksPerTeam) {
      const detail = `The team has ${clusterLimits.webhooksPerTeam} webhooks. Delete one first.`;
      throw new Problem('quota_exceeded', detail);
    }
    const [id, secret] = [randomUUID(), mintSecret()];
    const { until: position } = await readEvents(tx, teamId, null, 0);
    const wanted = { id, name, spec, position, secret: secrets.seal(secret, id) };
    const webhook = await insertWebhook(tx, caller, wanted, now);
    await recordAudit(tx, caller, { action: 'webhook.create', target: targetOf(webhook), changes });
    return { webhook, secret };
  });
}

/** @throws Problem `not_found`, `permission_denied` */
export const removeWebhook = (changeTeam: ChangeTeam, caller: PersonCaller, name: string): Promise<void> =>
  changeTeam(caller, async (tx) => {
    await requireAdminNow(tx, caller);
    const webhook = found(await findWebhook(tx, caller.team.id, name));
    await deleteWebhook(tx, caller.team.id, webhook.id);
    await recordAudit(tx, caller, { action: 'webhook.delete', target: targetOf(webhook) });
  });

/**
 * Replaces the secret. Messages are signed with the previous one as well for a day, so that receivers can follow.
 *
 * @throws Problem `not_found`, `permission_denied`
 */
export const replaceSecret = (
  { changeTeam, secrets }: Pick<PutWebhook, 'changeTeam' | 'secrets'>,
  caller: PersonCaller,
  name: string,
): Promise<{ readonly secret: string; readonly previousUntil: Date }> =>
  changeTeam(caller, async (tx, now) => {
    await requireAdminNow(tx, caller);
    const teamId = caller.team.id;
    const webhook = found(await findWebhook(tx, teamId, name));
    const secret = mintSecret();
    const [previous] = secrets.openOrNull(webhook.sealedSecrets, webhook.id)?.split(' ') ?? [];
    const both = previous === undefined ? secret : `${secret} ${previous}`;
    const previousUntil = new Date(now.getTime() + clusterLimits.webhookSecretOverlapHours * HOUR_MS);
    await saveSecrets(tx, teamId, webhook.id, secrets.seal(both, webhook.id), previousUntil);
    await recordAudit(tx, caller, { action: 'webhook.replace_secret', target: targetOf(webhook) });
    return { secret, previousUntil };
  });

/** Sends a test next, unless another notice waits. @throws Problem `not_found`, `permission_denied` */
export const testWebhook = (changeTeam: ChangeTeam, caller: PersonCaller, name: string): Promise<WebhookRecord> =>
  changeTeam(caller, async (tx, now) => {
    await requireAdminNow(tx, caller);
    const { id, notice } = found(await findWebhook(tx, caller.team.id, name));
    return changeWebhook(tx, caller.team.id, id, notice === null ? { notice: 'test' } : {}, now);
  });

/**
 * Moves the position back to a time. It never moves forward, so nothing that waits is skipped.
 *
 * @throws Problem `validation_failed`, `not_found`, `permission_denied`
 */
export const replayWebhook = (
  changeTeam: ChangeTeam,
  caller: PersonCaller,
  name: string,
  from: string,
): Promise<WebhookRecord> =>
  changeTeam(caller, async (tx, now) => {
    await requireAdminNow(tx, caller);
    const webhook = found(await findWebhook(tx, caller.team.id, name));
    const since = parseTime(from);
    if (since === null || since > now || since < keptSince(now)) {
      const must = `must be a time in the last ${clusterLimits.teamEventsKeptHours} hours`;
      throw invalidField('validation_failed', '/since', must);
    }
    const first = await positionAt(tx, caller.team.id, since);
    const isBack = first !== null && comparePositions(first, webhook.position) < 0;
    const moved = await changeWebhook(tx, caller.team.id, webhook.id, isBack ? { position: first } : {}, now);
    const detail = { since: since.toISOString() };
    await recordAudit(tx, caller, { action: 'webhook.replay', target: targetOf(webhook), detail });
    return moved;
  });

const partsOf = ({ url, kinds }: WebhookSpec) => ({ '/spec/url': url, '/spec/kinds': kinds });

const targetOf = ({ id, name }: WebhookRecord) => ({ kind: 'Webhook', id, name });
