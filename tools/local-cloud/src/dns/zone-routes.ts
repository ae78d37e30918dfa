import type { Request, Response } from 'express';
import type { Cloud } from '../cloud.js';
import { actionBody, bodyOf, JUST_STARTED, notFound, pageOf, queryValues } from '../hcloud/answers.js';
import { param, type Routes } from '../http/serve-routes.js';
import { rrsetActions, rrsetWrites, type WriteKind } from './decide-write.js';
import { type Rrset, rrsetId, type ZoneAction } from './model.js';
import type { HeldZone } from './zones.js';

const RRSETS_PER_PAGE_MAX = 100;
const RRSETS = '/v1/zones/:zone/rrsets';
const RRSET = `${RRSETS}/:name/:type`;

/** Zones, their sets, and their actions. */
export function zoneRoutes(cloud: Cloud): Routes {
  const { zones, clock } = cloud;
  const zoneOf = (req: Request): HeldZone => {
    const zone = zones.find(param(req, 'zone'));
    if (zone === null) throw notFound('zone');
    return zone;
  };
  const actionOf = (action: ZoneAction, nowMs: number) => ({
    ...actionBody(action, { id: action.zoneId, type: 'zone' }, nowMs),
    ...cloud.extraFields.action,
  });
  const rrsetOf = ({ name, type, ttl, labels, protection, records }: Rrset, { facts }: HeldZone) => ({
    id: rrsetId(name, type),
    name,
    type,
    ttl,
    labels,
    protection,
    records: records.map((record) => ({ ...record, ...cloud.extraFields.record })),
    zone: facts.id,
    ...cloud.extraFields.rrset,
  });
  const write = (kind: WriteKind) => (req: Request, res: Response) => {
    const zone = zoneOf(req);
    const body = req.method === 'DELETE' ? null : bodyOf(req);
    const { name = body?.name, type = body?.type } = req.params as { name?: string; type?: string };
    const request = { method: req.method, path: req.originalUrl, body };
    const { action, rrset } = zones.write(zone, { name, type }, kind, request, res.locals.actionError ?? null);
    const isOfSet = kind === rrsetWrites.create || kind === rrsetWrites.putLabels;
    if (req.method !== 'PUT') res.status(201);
    return {
      ...(isOfSet ? { rrset: rrset && rrsetOf(rrset, zone) } : {}),
      ...(action === null ? {} : { action: actionOf(action, JUST_STARTED) }),
    };
  };
  const actions = Object.entries(rrsetActions).map(([name, kind]) => [`POST ${RRSET}/actions/${name}`, write(kind)]);
  return {
    'GET /v1/actions': (req) => {
      const ids = new Set(queryValues(req, 'id').map(Number));
      const known = [...ids].sort((a, b) => a - b).flatMap((id) => zones.findAction(id) ?? []);
      return { actions: known.map((action) => actionOf(action, clock.now())) };
    },
    'GET /v1/zones/:zone': (req) => ({ zone: { ...zoneBody(zoneOf(req)), ...cloud.extraFields.zone } }),
    [`GET ${RRSETS}`]: (req) => {
      const zone = zoneOf(req);
      return pageOf(req, 'rrsets', zone.table.sorted(), (rrset) => rrsetOf(rrset, zone), RRSETS_PER_PAGE_MAX);
    },
    [`POST ${RRSETS}`]: write(rrsetWrites.create),
    [`GET ${RRSET}`]: (req) => {
      const zone = zoneOf(req);
      const rrset = zone.table.get(param(req, 'name'), param(req, 'type'));
      if (rrset === null) throw notFound('rrset');
      return { rrset: rrsetOf(rrset, zone) };
    },
    [`PUT ${RRSET}`]: write(rrsetWrites.putLabels),
    [`DELETE ${RRSET}`]: write(rrsetWrites.remove),
    ...Object.fromEntries(actions),
  };
}

/** Key order matters to clients that truncate the text: `id` and `name` come first. */
const zoneBody = ({ facts, table }: HeldZone) => ({
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
});
