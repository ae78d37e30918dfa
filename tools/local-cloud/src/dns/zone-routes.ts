import type { Cloud } from '../cloud.js';
import { actionBody, type Body, bodyOf, JUST_STARTED, notFound, pageOf, queryValues } from '../hcloud/answers.js';
import type { Asked, RouteTable } from '../http/route-table.js';
import { rrsetActions, rrsetWrites, type WriteKind } from './decide-write.js';
import { type ExtraFields, type Rrset, rrsetId, type ZoneAction } from './model.js';
import type { HeldZone, WriteOutcome } from './zones.js';

const RRSETS_PER_PAGE_MAX = 100;
const RRSETS = '/v1/zones/:zone/rrsets';
const RRSET = `${RRSETS}/:name/:type`;

/** Zones, their sets, and lists of their actions. */
export function zoneRoutes(cloud: Cloud): RouteTable {
  const { zones, clock } = cloud;
  const zoneOf = ({ param }: Asked): HeldZone => {
    const zone = zones.find(param('zone'));
    if (zone === null) throw notFound('zone');
    return zone;
  };
  const identityOf = ({ param }: Asked) => ({ name: param('name'), type: param('type') });
  const write = (asked: Asked, identity: { name: string; type: string }, kind: WriteKind, body: Body | null) => {
    const { req, res } = asked;
    const zone = zoneOf(asked);
    const request = { method: req.method, path: req.originalUrl, body };
    return rendered(zone, zones.write(zone, identity, kind, request, res.locals.actionError ?? null));
  };
  const rendered = ({ facts }: HeldZone, { action, rrset }: WriteOutcome) => ({
    rrset: rrset && rrsetBody(rrset, facts.id, cloud.extraFields),
    action: action && zoneActionBody(action, JUST_STARTED, cloud.extraFields),
  });
  const ofActions = Object.entries(rrsetActions).map(([action, kind]): [string, RouteTable[string]] => [
    `POST ${RRSET}/actions/${action}`,
    (asked) => ({ action: write(asked, identityOf(asked), kind, bodyOf(asked.req)).action }),
  ]);
  return {
    'GET /v1/actions': ({ req }) => {
      const ids = new Set(queryValues(req, 'id').map(Number));
      const known = [...ids].sort((a, b) => a - b).flatMap((id) => zones.findAction(id) ?? []);
      return { actions: known.map((action) => zoneActionBody(action, clock.now(), cloud.extraFields)) };
    },
    'GET /v1/zones': ({ req }) => {
      const [name] = queryValues(req, 'name');
      const found = zones.list().filter(({ facts }) => name === undefined || facts.name === name);
      return pageOf(req, 'zones', found, (zone) => zoneBody(zone, cloud.extraFields));
    },
    'GET /v1/zones/:zone': (asked) => ({ zone: zoneBody(zoneOf(asked), cloud.extraFields) }),
    [`GET ${RRSETS}`]: (asked) => {
      const { facts, table } = zoneOf(asked);
      const render = (rrset: Rrset) => rrsetBody(rrset, facts.id, cloud.extraFields);
      return pageOf(asked.req, 'rrsets', table.sorted(), render, RRSETS_PER_PAGE_MAX);
    },
    [`POST ${RRSETS}`]: (asked) => {
      const body = bodyOf(asked.req);
      return write(asked, { name: body.name, type: body.type }, rrsetWrites.create, body);
    },
    [`GET ${RRSET}`]: (asked) => {
      const { facts, table } = zoneOf(asked);
      const { name, type } = identityOf(asked);
      const rrset = table.get(name, type);
      if (rrset === null) throw notFound('rrset');
      return { rrset: rrsetBody(rrset, facts.id, cloud.extraFields) };
    },
    [`PUT ${RRSET}`]: (asked) => ({
      rrset: write(asked, identityOf(asked), rrsetWrites.putLabels, bodyOf(asked.req)).rrset,
    }),
    [`DELETE ${RRSET}`]: (asked) => {
      asked.res.status(201);
      return { action: write(asked, identityOf(asked), rrsetWrites.remove, null).action };
    },
    ...Object.fromEntries(ofActions),
  };
}

export const zoneActionBody = (action: ZoneAction, nowMs: number, extra: ExtraFields) => ({
  ...actionBody(action, { id: action.zoneId, type: 'zone' }, nowMs),
  ...extra.action,
});

/** Key order matters to clients that truncate the text: `id` and `name` come first. */
const zoneBody = ({ facts, table }: HeldZone, extra: ExtraFields) => ({
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

const rrsetBody = ({ name, type, ttl, labels, protection, records }: Rrset, zoneId: number, extra: ExtraFields) => ({
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
