import { addBudget, type BudgetReading } from '@corral/admission';
import { type DnsCaller, dnsCallerOf } from '@corral/auth';
import { canRead, writeRefusal } from '@corral/contracts';
import {
  type AnsweredRecorder,
  parseRrsetWrite,
  type RrsetKey,
  type RrsetWrite,
  type RrsetWriteKind,
  readRrsetBody,
  sameLabels,
  type ZoneRecord,
} from '@corral/dns-data';
import type { UpstreamWrite } from '@corral/hcloud';
import { queryOf, scopeOf, sendJsonText } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import { shownAnswer } from '../actions/follow-name-servers.js';
import { DnsError, notFound } from '../dns-error.js';
import { jsonObjectBody, paginationOf, parseRrsetQuery } from '../http/request.js';
import type { Services, WriteAnswer } from '../services.js';
import { visibleTo } from '../zones/zone-directory.js';
import { noteRefused } from './send-write.js';
import { writeRrset } from './write-rrset.js';

export const rrsetRoutes = (services: Services) => ({ ...readRoutes(services), ...writeRoutes(services) });

/** Reads of record sets. All come from the mirror, without upstream calls. */
function readRoutes({ zones, mirror }: Services): Record<'listRrsets' | 'getRrset', RequestHandler> {
  return {
    async listRrsets(req, res) {
      const caller = dnsCallerOf(res);
      const zone = await zones.of(caller).resolve(req.params.zone as string);
      const { page, perPage, ...selection } = parseRrsetQuery(queryOf(req));
      const found = await mirror.pageRrsets({
        scope: visibleTo(caller, zone),
        selection,
        limit: perPage,
        offset: (page - 1) * perPage,
      });
      const pagination = paginationOf({ page, perPage }, found.total);
      sendJsonText(res, 200, `{"rrsets":[${found.bodies}],"meta":${JSON.stringify({ pagination })}}`);
    },

    async getRrset(req, res) {
      const caller = dnsCallerOf(res);
      const zone = await zones.of(caller).resolve(req.params.zone as string);
      const { name, type } = rrsetParams(req);
      // A malformed or foreign name looks like an absent set.
      if (!canRead(caller, { zoneName: zone.name, name, type })) throw notFound('record set');
      const body = await mirror.findRrset(visibleTo(caller, zone), name, type);
      if (body === null) throw notFound('record set');
      sendJsonText(res, 200, `{"rrset":${body}}`);
    },
  };
}

function rrsetParams(req: Request): { name: string; type: string } {
  return { name: req.params.name as string, type: req.params.type as string };
}

type WriteRoute =
  | 'createRrset'
  | 'updateRrset'
  | 'deleteRrset'
  | 'setRecords'
  | 'addRecords'
  | 'removeRecords'
  | 'changeTtl';

const recordActions = {
  setRecords: 'set_records',
  addRecords: 'add_records',
  removeRecords: 'remove_records',
  changeTtl: 'change_ttl',
} as const satisfies Partial<Record<WriteRoute, RrsetWriteKind>>;

/** Writes. Checks come in one order: zone (404), body (400), name and type (403), quota (403), upstream. */
function writeRoutes(services: Services): Record<WriteRoute, RequestHandler> {
  const { zones, mirror, upstream: cloud, answered } = services;

  const forward = async (res: Response, request: ForwardedWrite): Promise<void> => {
    const { caller, key, write, bytes, method, below } = request;
    const segments = ['zones', String(key.zoneId), 'rrsets', ...below];
    const upstream: UpstreamWrite = { team: caller.accountId, method, segments, body: bytes };
    const { requestId } = res.locals;
    const answer = await writeRrset(services, { caller, requestId, key, write, bytes, upstream, scope: scopeOf(res) });
    tellUpstream(res, cloud.budget());
    noteDelivery(res, answer, answered);
    sendJsonText(res, answer.status, shownAnswer(services, caller, answer.body));
  };

  /**
   * The set that a write names.
   *
   * @throws DnsError `forbidden` for the apex, a malformed or foreign name, or a type that the caller may not write, after the attempt was
   *   counted. Independent of whether the name exists
   */
  const writable = async (res: Response, { caller, zone }: Begun, asked: Asked): Promise<RrsetKey> => {
    const { name, type, write } = asked;
    res.locals.record = `${name}/${type}`;
    const key = { zoneId: zone.id, name, type };
    const refusal = writeRefusal(caller, { zoneName: zone.name, name, type });
    if (refusal === null) return key;
    const { requestId } = res.locals;
    return noteRefused(services, { caller, requestId, key, write }, new DnsError('forbidden', refusal));
  };

  const recordAction =
    (operation: RrsetWriteKind): RequestHandler =>
    async (req, res) => {
      const begun = await begin(zones, req, res);
      const { bytes, value } = jsonObjectBody(req);
      const write = parseRrsetWrite(operation, value);
      const { name, type } = rrsetParams(req);
      const key = await writable(res, begun, { name, type, write });
      const below = [name, type, 'actions', operation];
      await forward(res, { caller: begun.caller, key, write, bytes, method: 'POST', below });
    };

  return {
    setRecords: recordAction(recordActions.setRecords),
    addRecords: recordAction(recordActions.addRecords),
    removeRecords: recordAction(recordActions.removeRecords),
    changeTtl: recordAction(recordActions.changeTtl),

    async createRrset(req, res) {
      const begun = await begin(zones, req, res);
      const { bytes, value } = jsonObjectBody(req);
      const write = parseRrsetWrite('create', value);
      const { name, type } = value as { name: string; type: string };
      const key = await writable(res, begun, { name, type, write });
      await forward(res, { caller: begun.caller, key, write, bytes, method: 'POST', below: [] });
    },

    async deleteRrset(req, res) {
      const begun = await begin(zones, req, res);
      const write = { operation: 'delete' } as const;
      const { name, type } = rrsetParams(req);
      const key = await writable(res, begun, { name, type, write });
      await forward(res, { caller: begun.caller, key, write, bytes: null, method: 'DELETE', below: [name, type] });
    },

    async updateRrset(req, res) {
      const begun = await begin(zones, req, res);
      const { caller, zone } = begun;
      const { bytes, value } = jsonObjectBody(req);
      const write = parseRrsetWrite('update', value);
      const { name, type } = rrsetParams(req);
      const key = await writable(res, begun, { name, type, write });
      const body = await mirror.findRrset(visibleTo(caller, zone), name, type);
      if (body === null) throw notFound('record set');
      // Clients end every update with this call, whether labels changed or not.
      if (changesNothing(write, value, body)) sendJsonText(res, 200, `{"rrset":${body}}`);
      else await forward(res, { caller, key, write, bytes, method: 'PUT', below: [name, type] });
    },
  };
}

interface Asked {
  readonly name: string;
  readonly type: string;
  readonly write: RrsetWrite;
}

/** The one who writes, and the place. */
interface Begun {
  readonly caller: DnsCaller;
  readonly zone: ZoneRecord;
}

interface ForwardedWrite {
  readonly caller: DnsCaller;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  readonly bytes: Buffer | null;
  readonly method: UpstreamWrite['method'];
  /** Path segments below the zone's record sets. */
  readonly below: readonly string[];
}

async function begin(zones: Services['zones'], req: Request, res: Response): Promise<Begun> {
  const caller = dnsCallerOf(res);
  return { caller, zone: await zones.of(caller).resolve(req.params.zone as string) };
}

/** Only a body with nothing but labels can be answered here. Anything else is left to the upstream to validate. */
function changesNothing(write: RrsetWrite, value: object, body: string): boolean {
  if (write.operation !== 'update' || Object.keys(value).some((member) => member !== 'labels')) return false;
  return write.labels === null || sameLabels(write.labels, readRrsetBody(body).labels);
}

/** Adds the upstream's budget, which may be tighter than our own limits. */
function tellUpstream(res: Response, { limit, remaining, resetAt }: BudgetReading): void {
  if (limit === null || remaining === null || resetAt === null) return;
  addBudget(res, 'upstream', { limit, remaining, resetAt: resetAt.getTime() });
}

/** An answer counts as delivered once it was written to an open connection. */
function noteDelivery(res: Response, { entryId }: WriteAnswer, answered: AnsweredRecorder): void {
  // At `finish` the response is detached from its connection, but the request is not.
  const { socket } = res.req;
  res.once('finish', () => {
    if (!socket.destroyed) answered.note(entryId);
  });
}
