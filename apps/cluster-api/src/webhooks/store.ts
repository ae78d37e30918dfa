import { type EventPosition, positionColumns, positionIn } from '@corral/cluster-data';
import type { TeamEventKind, TeamId, WebhookNotice, WebhookSpec } from '@corral/contracts';
import type { Sealed } from '@corral/secrets';
import type { PersonCaller } from '../changes/caller.js';
import type { Transaction } from '../changes/team-changes.js';

export interface WebhookRecord {
  readonly id: string;
  readonly name: string;
  readonly spec: WebhookSpec;
  readonly position: EventPosition;
  readonly notice: WebhookNotice | null;
  readonly sealedSecrets: Sealed;
  readonly deliveredAt: Date | null;
  readonly failingSince: Date | null;
  readonly failures: number;
  readonly lastFailure: string | null;
  readonly dueAt: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

type Row = NonNullable<Awaited<ReturnType<Transaction['webhook']['findFirst']>>>;

const webhookOf = ({ url, kinds, notice, ...row }: Row): WebhookRecord => ({
  ...row,
  spec: { url, kinds: kinds as TeamEventKind[] },
  notice: notice as WebhookNotice | null,
  position: positionIn(row),
  sealedSecrets: { keyId: row.secretsKeyId, bytes: row.sealedSecrets },
});

const secretColumns = ({ keyId, bytes }: Sealed) => ({
  secretsKeyId: keyId,
  sealedSecrets: new Uint8Array(bytes),
});

/** Sorted by name. */
export async function listWebhooks(db: Transaction, teamId: TeamId): Promise<WebhookRecord[]> {
  return (await db.webhook.findMany({ where: { teamId }, orderBy: { name: 'asc' } })).map(webhookOf);
}

export async function findWebhook(db: Transaction, teamId: TeamId, name: string): Promise<WebhookRecord | null> {
  const row = await db.webhook.findUnique({ where: { teamId_name: { teamId, name } } });
  return row && webhookOf(row);
}

export const countWebhooks = (tx: Transaction, teamId: TeamId): Promise<number> =>
  tx.webhook.count({ where: { teamId } });

export interface NewWebhook {
  readonly id: string;
  readonly name: string;
  readonly spec: WebhookSpec;
  readonly secret: Sealed;
  /** Its events begin here. */
  readonly position: EventPosition;
}

export async function insertWebhook(
  tx: Transaction,
  { team: { id: teamId }, userId: createdById }: PersonCaller,
  { id, name, spec, secret, position }: NewWebhook,
  now: Date,
): Promise<WebhookRecord> {
  const columns = { ...positionColumns(position), ...secretColumns(secret), url: spec.url, kinds: [...spec.kinds] };
  const times = { createdAt: now, updatedAt: now, dueAt: now, noticeAt: now };
  const notice = 'ready' satisfies WebhookNotice;
  return webhookOf(await tx.webhook.create({ data: { id, teamId, name, createdById, notice, ...columns, ...times } }));
}

/** What makes it due, so that a failing receiver is tried at once. */
export interface WebhookChange {
  readonly spec?: WebhookSpec;
  readonly position?: EventPosition;
  readonly notice?: WebhookNotice;
}

export async function changeWebhook(
  tx: Transaction,
  teamId: TeamId,
  id: string,
  { spec, position, notice }: WebhookChange,
  now: Date,
): Promise<WebhookRecord> {
  const data = {
    ...(spec && { url: spec.url, kinds: [...spec.kinds], updatedAt: now }),
    ...(position && positionColumns(position)),
    ...(notice && { notice, noticeAt: now }),
    dueAt: now,
  };
  return webhookOf(await tx.webhook.update({ where: { id, teamId }, data }));
}

export async function saveSecrets(
  tx: Transaction,
  teamId: TeamId,
  id: string,
  secrets: Sealed,
  previousSecretUntil: Date,
): Promise<void> {
  const data = { ...secretColumns(secrets), previousSecretUntil };
  await tx.webhook.update({ where: { id, teamId }, data, select: { id: true } });
}

export async function deleteWebhook(tx: Transaction, teamId: TeamId, id: string): Promise<void> {
  await tx.webhook.delete({ where: { id, teamId }, select: { id: true } });
}

/** The position before the first event of a transaction that began at the time or later. Null when there is none. */
export async function positionAt(tx: Transaction, teamId: TeamId, since: Date): Promise<EventPosition | null> {
  const event = await tx.teamEvent.findFirst({
    where: { teamId, createdAt: { gte: since } },
    orderBy: [{ xid: 'asc' }, { id: 'asc' }],
    select: { xid: true },
  });
  return event && { xid: event.xid, id: 0n, at: since.getTime() };
}
