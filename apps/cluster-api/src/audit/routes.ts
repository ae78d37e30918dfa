import {
  type AuditKind,
  type AuditOutcome,
  type ClusterOperationId,
  clusterLimits,
  parseTime,
} from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import { callerOf } from '../http/caller.js';
import { sendJsonLines } from '../http/json-lines.js';
import { teamConcurrencyLimit } from '../http/limits.js';
import { parsePaging } from '../http/request.js';
import { type Cursor, renderCursor } from '../paging.js';
import { invalidField } from '../problem.js';
import { apiAudit } from './api-entries.js';
import { dnsAudit } from './dns-entries.js';
import { type AuditFilters, type AuditPosition, auditLog, auditSources } from './log.js';
import { auditBody } from './view.js';

/** The handlers of a team's audit log. */
export function auditRoutes({ prisma }: { readonly prisma: Prisma }) {
  const log = auditLog({ api: apiAudit(prisma), dns: dnsAudit(prisma) });
  const { auditExportsPerTeam: perTeam, auditExportsPerProcess: perProcess } = clusterLimits;
  const exporting = teamConcurrencyLimit({ perTeam, perProcess }, 'Exports of the audit log');
  return {
    async listAudit(req, res) {
      const { team } = callerOf(res);
      const { limit, after } = parsePaging(req, 2);
      const page = await log.readPage(team.id, filtersOf(req), after && positionOf(after), limit);
      const last = page.records.at(-1);
      const next = page.hasMore && last !== undefined ? renderCursor(cursorAt(last)) : null;
      res.json({ items: page.records.map(auditBody), next });
    },

    async exportAudit(req, res) {
      const { team } = callerOf(res);
      const filters = filtersOf(req);
      await exporting(team.id, async () => {
        const entries = async function* () {
          for await (const records of log.readAll(team.id, filters)) yield records.map(auditBody);
        };
        await sendJsonLines(req, res, entries(), `audit-${team.slug}.ndjson`);
      });
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

function filtersOf(req: Request): AuditFilters {
  const query = queryOf(req);
  const timeOf = (name: string): Date | null => parseTime(query.get(name) ?? '');
  return {
    kind: query.get('kind') as AuditKind | null,
    action: query.get('action'),
    outcome: query.get('outcome') as AuditOutcome | null,
    name: query.get('name'),
    type: query.get('type'),
    token: query.get('token'),
    actor: query.get('actor'),
    requestId: query.get('request_id'),
    from: timeOf('from'),
    to: timeOf('to'),
  };
}

const cursorAt = ({ createdAt, source, number }: AuditPosition): Cursor => [
  createdAt.toISOString(),
  `${source}-${number}`,
];

const entryId = /^([a-z]+)-(\d{1,18})$/;

function positionOf([time, id]: Cursor): AuditPosition {
  const createdAt = parseTime(time as string);
  const [, name, number] = entryId.exec(id as string) ?? [];
  const source = auditSources.find((known) => known === name);
  if (createdAt === null || source === undefined || number === undefined) {
    throw invalidField('validation_failed', '/query/cursor', 'must be the `next` value of a page');
  }
  return { createdAt, source, number: BigInt(number) };
}
