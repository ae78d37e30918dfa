import { createHmac } from 'node:crypto';
import { type EventRecord, renderPosition } from '@corral/cluster-data';
import { teamEventName, type WebhookMessage, type WebhookNotice } from '@corral/contracts';
import type { Answered, Broken } from '@corral/service';

export interface Message {
  /** The same for each attempt, so that receivers recognise duplicates. */
  readonly id: string;
  readonly body: WebhookMessage;
}

/** @param team its slug */
export function messageOfEvent({ position, kind, change, name, targetId, parent }: EventRecord, team: string): Message {
  const id = renderPosition(position);
  const data = { team, id, kind, change, name, targetId, parent };
  return { id, body: { type: teamEventName(kind, change), timestamp: new Date(position.at).toISOString(), data } };
}

export const messageOfNotice = (webhookId: string, notice: WebhookNotice, at: Date, team: string): Message => ({
  id: `${notice}_${webhookId}_${at.getTime()}`,
  body: { type: notice, timestamp: at.toISOString(), data: { team } },
});

/**
 * The headers of Standard Webhooks, with one signature for each secret.
 *
 * @param secrets `whsec_` and base64
 * @param now of the attempt
 */
export function signedHeaders(
  id: string,
  payload: string,
  secrets: readonly string[],
  now: Date,
): Readonly<Record<string, string>> {
  const timestamp = Math.floor(now.getTime() / 1_000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${payload}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}

/** Why an attempt failed, for the team. Null when the receiver accepted the message. */
export function failureOf(answer: Answered | Broken): string | null {
  if (answer.kind === 'answered') return answer.status >= 200 && answer.status < 300 ? null : `status ${answer.status}`;
  if (answer.cause === 'error') return answer.code;
  return answer.cause === 'time' ? 'timeout' : answer.cause;
}
