import { type Call, type Cycle, kept } from './call.js';
import type { Asked, Site } from './site.js';

export const ZONE = 'bench.test';
export const DEMO_ZONE = 'demo.test';
const sets = `/zones/${ZONE}/rrsets`;

type Text = string | ((site: Site, n: number) => string);

const ask =
  (method: Asked['method'], path: Text, body?: object | ((site: Site, n: number) => object)): Call['ask'] =>
  (site, n) => ({
    api: 'dns',
    method,
    path: typeof path === 'string' ? path : path(site, n),
    ...(body === undefined
      ? {}
      : { body: typeof body === 'function' ? (body as (s: Site, n: number) => object)(site, n) : body }),
  });
const read = (of: Call['of'], path: Text, how?: string): Cycle => ({
  calls: [{ of, ask: ask('GET', path), ...(how === undefined ? {} : { how }) }],
});

/** A gateway keeps the pages that it has read: as if a set of the team had changed since, so that the page is read again. */
const changeSets = async ({ pool }: Site): Promise<void> => {
  await pool.query(
    `INSERT INTO team_event (team_id, kind, target_id, target_name, change)
     SELECT id, 'RecordSet', 's3.acme/A', 's3.acme', 'changed' FROM team WHERE slug = 'acme'`,
  );
};
const listSets = (path: string, how?: string): Cycle => {
  const { calls } = read('listRrsets', path, how);
  return { calls: calls.map((call) => ({ ...call, prepare: changeSets })) };
};

/** Both installations write to one upstream, so their names differ. */
const written = ({ name }: Site, n: number): string => `w${name === 'small' ? 's' : 'l'}${n}.acme`;
const pathOf = (site: Site, n: number): string => `${sets}/${written(site, n)}/A`;
const actionOn =
  (name: string) =>
  (site: Site, n: number): string =>
    `${pathOf(site, n)}/actions/${name}`;
const records = (...values: string[]) => ({ records: values.map((value) => ({ value })) });

const lifeOfSet: Cycle = {
  calls: [
    {
      of: 'createRrset',
      ask: ask('POST', sets, (site, n) => ({ name: written(site, n), type: 'A', ...records('192.0.2.1') })),
    },
    { of: 'setRecords', ask: ask('POST', actionOn('set_records'), records('192.0.2.2')) },
    { of: 'addRecords', ask: ask('POST', actionOn('add_records'), records('192.0.2.3')) },
    { of: 'removeRecords', ask: ask('POST', actionOn('remove_records'), records('192.0.2.3')) },
    { of: 'changeTtl', ask: ask('POST', actionOn('change_ttl'), { ttl: 600 }) },
    { of: 'updateRrset', ask: ask('PUT', pathOf, { labels: { env: 'test' } }) },
    { of: 'getRrset', how: 'just written', ask: ask('GET', pathOf) },
    { of: 'deleteRrset', ask: ask('DELETE', pathOf) },
  ],
};

const demo = (site: Site): string => `/demos/${kept(site, 'demo')}`;
const lifeOfDemo: Cycle = {
  calls: [
    {
      of: 'createDemo',
      ask: ask('POST', '/demos', { ttl: 600 }),
      take: (site, { text }) => site.kept.set('demo', (JSON.parse(text) as { demo: { label: string } }).demo.label),
    },
    { of: 'listDemos', ask: ask('GET', '/demos') },
    { of: 'getDemo', ask: ask('GET', demo) },
    { of: 'extendDemo', ask: ask('POST', (site) => `${demo(site)}/actions/extend`, { ttl: 900 }) },
    { of: 'deleteDemo', ask: ask('DELETE', demo) },
  ],
};

const action = ({ seeded }: Site): string => seeded.ids.action as string;

/** All requests of the DNS API. */
export const dnsCalls: readonly Cycle[] = [
  read('listZones', '/zones'),
  read('getZone', `/zones/${ZONE}`),
  read('listRrsets', sets, 'unchanged'),
  listSets(sets),
  listSets(`${sets}?page=1&per_page=5&name=s3.acme`, 'by name'),
  listSets(`${sets}?type=TXT`, 'by type'),
  listSets(`${sets}?label_selector=env%3Dprod`, 'by label'),
  listSets(`${sets}?sort=created:desc`, 'newest first'),
  read('getRrset', `${sets}/s3.acme/A`),
  read('listActions', (site) => `/actions?id=${action(site)}`),
  read('listZoneActions', '/zones/actions'),
  read('listZoneActions', '/zones/actions?status=error', 'failed'),
  read('listZoneActions', '/zones/actions?sort=started:desc&page=3', 'newest first, third page'),
  read('listActionsOfZone', `/zones/${ZONE}/actions`),
  read('getAction', (site) => `/actions/${action(site)}`),
  read('getZoneAction', (site) => `/zones/actions/${action(site)}`),
  read('getActionOfZone', (site) => `/zones/${ZONE}/actions/${action(site)}`),
  read('getToken', '/token'),
  lifeOfSet,
  lifeOfDemo,
];
