import {
  type AuditEntryBody,
  type AuditKind,
  type AuditOutcome,
  type ClusterOperationId,
  clusterLimits,
  parseTime,
  parseUndoEntries,
  parseUndoEntry,
  type UndoEntries,
} from '@corral/contracts';
import { changeOfEntry } from '@corral/domain';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import { callerOf, sessionOf } from '../http/caller.js';
import { sendJsonLines } from '../http/json-lines.js';
import { teamConcurrencyLimit } from '../http/limits.js';
import { bodyOf, parsePaging, purposeOf } from '../http/request.js';
import { type Cursor, renderCursor } from '../paging.js';
import { found, invalidField } from '../problem.js';
import type { Services } from '../services.js';
import { apiAudit } from './api-store.js';
import { dnsAudit, tokensMadeBy } from './dns-store.js';
import { type AuditFilters, type AuditPosition, auditLog, parseEntryId } from './log.js';
import { undo } from './undo.js';
import { entriesToUndo } from './undo-plan.js';
import { auditBody } from './view.js';

/** The handlers of a team's audit log. */
export function auditRoutes(services: Services) {
  const { prisma } = services;
  const log = auditLog({ api: apiAudit(prisma), dns: dnsAudit(prisma) });
  const { auditExportsPerTeam: perTeam, auditExportsPerProcess: perProcess } = clusterLimits;
  const exporting = teamConcurrencyLimit({ perTeam, perProcess }, 'Exports of the audit log');
  /** The log is for administrators. Others take back only what they did themselves, or with DNS tokens that they made. */
  const isOwnOf = async (res: Response): Promise<(entry: AuditEntryBody) => boolean> => {
    const { role, account, userId, team } = callerOf(res);
    if (role === 'admin') return () => true;
    if (account !== null) return ({ actor }) => actor.kind === 'account' && actor.id === account.id;
    const tokens = await tokensMadeBy(prisma, team.id, userId);
    const own = new Set([`user ${sessionOf(res)?.userNumber}`, ...tokens.map((id) => `token ${id}`)]);
    return ({ actor }) => own.has(`${actor.kind} ${actor.id}`);
  };
  const sendUndone = async (
    req: Request,
    res: Response,
    entries: readonly AuditEntryBody[],
    overwrite: string | null,
  ): Promise<void> => {
    const plan = await undo(services, callerOf(res), entries, { purpose: purposeOf(req), overwrite });
    res.status(plan.items.some(({ state }) => state === 'begun') ? 202 : 200).json(plan);
  };
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

    async undoAuditEntry(req, res) {
      const { overwrite = null } = parseUndoEntry(bodyOf(req, { absent: {} }));
      const entry = found(parseEntryId(req.params.id as string));
      const entries = await entriesToUndo(services, callerOf(res), { entry }, await isOwnOf(res));
      found(entries[0] ?? null);
      await sendUndone(req, res, entries, overwrite);
    },

    async undoAudit(req, res) {
      const { overwrite = null, ...wish } = parseUndoEntries(bodyOf(req));
      const isOwn = await isOwnOf(res);
      const isWanted = (entry: AuditEntryBody) => isOwn(entry) && changeOfEntry(entry).kind !== 'nothing';
      const entries = await entriesToUndo(services, callerOf(res), undoFiltersOf(wish), isWanted);
      await sendUndone(req, res, entries, overwrite);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

function undoFiltersOf({ requestId, since, until, actor, name, token }: UndoEntries): Partial<AuditFilters> {
  if (requestId === undefined && since === undefined) {
    throw invalidField('validation_failed', '/since', 'must be set, or requestId');
  }
  const [from, to] = [parseTime(since ?? ''), parseTime(until ?? '')];
  return { requestId: requestId ?? null, from, to, actor: actor ?? null, name: name ?? null, token: token ?? null };
}

function filtersOf(req: Request): AuditFilters {
  const query = queryOf(req);
  const timeOf = (name: string): Date | null => parseTime(query.get(name) ?? '');
  return {
    entry: null,
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

function positionOf([time, id]: Cursor): AuditPosition {
  const createdAt = parseTime(time as string);
  const entry = parseEntryId(id as string);
  if (createdAt === null || entry === null) {
    throw invalidField('validation_failed', '/query/cursor', 'must be the `next` value of a page');
  }
  return { createdAt, ...entry };
}
