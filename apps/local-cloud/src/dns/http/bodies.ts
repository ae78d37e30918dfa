import { timestamp } from '../../clock.js';
import type { HeldZone } from '../dns-project.js';
import type { Action, Rrset } from '../model.js';
import { rrsetId } from '../rrset-table.js';

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a future upstream: merged into every object of that kind in answers. */
export interface ExtraFields {
  zone?: Fields;
  rrset?: Fields;
  record?: Fields;
  action?: Fields;
}

/** Key order matters to clients that cut the text: `id` and `name` come before everything else. */
export const zoneBody = ({ facts, visible }: HeldZone, extra: ExtraFields) => ({
  id: facts.id,
  name: facts.name,
  created: facts.created,
  mode: 'primary',
  ttl: facts.ttl,
  labels: facts.labels,
  protection: { delete: false },
  primary_nameservers: [],
  registrar: 'other',
  status: 'ok',
  record_count: visible.recordCount,
  authoritative_nameservers: {
    assigned: facts.nameServers,
    delegated: facts.nameServers,
    delegation_last_check: null,
    delegation_status: 'unknown',
  },
  ...extra.zone,
});

export const rrsetBody = (
  { name, type, ttl, labels, protection, records }: Rrset,
  zoneId: number,
  extra: ExtraFields,
) => ({
  id: rrsetId(name, type),
  name,
  type,
  ttl,
  labels,
  protection,
  records: extra.record === undefined ? records : records.map((record) => ({ ...record, ...extra.record })),
  zone: zoneId,
  ...extra.rrset,
});

export type ActionStatus = 'running' | 'success' | 'error';

export function actionStatus({ finishesAt, error }: Action, nowMs: number): ActionStatus {
  if (nowMs < finishesAt) return 'running';
  return error === null ? 'success' : 'error';
}

export function actionBody(action: Action, status: ActionStatus, extra: ExtraFields) {
  const running = status === 'running';
  return {
    id: action.id,
    command: action.command,
    status,
    progress: running ? 0 : 100,
    started: timestamp(action.startedAt),
    finished: running ? null : timestamp(action.finishesAt),
    resources: [{ id: action.zoneId, type: 'zone' }],
    error: running ? null : action.error,
    ...extra.action,
  };
}
