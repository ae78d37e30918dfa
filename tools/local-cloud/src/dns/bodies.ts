import type { Request } from 'express';
import { type Clock, timestamp } from '../clock.js';
import type { Servers } from '../compute/servers.js';
import type { CallCounts } from '../faults/call-counts.js';
import type { FaultRules } from '../faults/fault-rules.js';
import type { ProviderNode } from '../garden/shoots/provider.js';
import { notFound } from '../hcloud/api-error.js';
import type { Budget } from '../hcloud/budget.js';
import type { ProjectTokens } from '../project-tokens.js';
import type { DnsProject, HeldZone } from './dns-project.js';
import type { Action, ActionFacts, Rrset } from './model.js';
import { rrsetId } from './rrset-table.js';

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a future upstream version: merged into every object of that kind in responses. */
export interface ExtraFields {
  zone?: Fields;
  rrset?: Fields;
  record?: Fields;
  action?: Fields;
}

/** Key order matters to clients that truncate the text: `id` and `name` come first. */
export const zoneBody = ({ facts, table }: HeldZone, extra: ExtraFields) => ({
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
  record_count: table.recordCount,
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

/** @param nowMs decides whether it is still running */
export function actionBody(action: ActionFacts, resource: { id: number; type: 'zone' | 'server' }, nowMs: number) {
  const isRunning = nowMs < action.finishesAt;
  return {
    id: action.id,
    command: action.command,
    status: isRunning ? 'running' : action.error === null ? 'success' : 'error',
    progress: isRunning ? 0 : 100,
    started: timestamp(action.startedAt),
    finished: isRunning ? null : timestamp(action.finishesAt),
    resources: [resource],
    error: isRunning ? null : action.error,
  };
}

/** Like the upstream, the response to a write shows the action as running, however short it is. */
export const JUST_STARTED = Number.NEGATIVE_INFINITY;

export interface DnsApiDeps {
  readonly project: DnsProject;
  readonly servers: Servers;
  /** Servers that the garden created in a project. */
  readonly nodesIn: (project: string) => ProviderNode[];
  /** Tokens of the zones' project. */
  readonly tokens: readonly string[];
  /** Valid tokens of all projects. */
  readonly projectTokens: ProjectTokens;
  readonly clock: Clock;
  readonly budget: Budget;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
  /** Read for every response, since the admin can change it. */
  readonly extraFields: () => ExtraFields;
}

/** A path parameter. Express has already decoded it. */
export const pathParam = (req: Request, name: string): string => String(req.params[name] ?? '');

/** @throws ApiError `not_found` */
export function getZone({ project }: DnsApiDeps, req: Request): HeldZone {
  const zone = project.findZone(pathParam(req, 'zone'));
  if (zone === null) throw notFound('zone');
  return zone;
}

export const actionOf = ({ clock, extraFields }: DnsApiDeps, action: Action, nowMs = clock.now()) => ({
  ...actionBody(action, { id: action.zoneId, type: 'zone' }, nowMs),
  ...extraFields().action,
});
