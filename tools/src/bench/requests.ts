import { randomBytes } from 'node:crypto';
import { clusterSpec } from '../rig/cluster-spec.js';
import { CLOUD_TOKEN, ZONE } from '../rig/services.js';
import { DIRECT_ZONE, type Installation } from './installation.js';
import type { Kind } from './play.js';
import { clusterOf, setOf, slugOf } from './sizes.js';

/** Names in the table, with requests per second: 500 in sum, and what the upstream takes by itself. */
export const READS = { 'list of record sets': 239, 'one record set': 150, 'one cluster': 60, 'list of clusters': 40 };
export const CHANGE = 'change of a cluster';
export const WRITE = 'write of a record set';
export const UPSTREAM = 'the same, of the upstream alone';
const [CHANGES, WRITES] = [10, 1];

/** Goes through teams, sets and clusters in steps without a common divisor, so that neighbours in time are strangers. */
const turn = (number: number, of: number, step = 7): number => (number * step) % of;
/** Another one each time, so that each write changes something. */
const address = (): string => `10.${randomBytes(3).join('.')}`;

/** All requests of the envelope, of all teams. @param maximum of the pools of changed clusters: another one for each play */
export function envelope(
  { size, gateways, api, cloud, tokens, cookies }: Installation,
  maximum: number,
): Record<string, Kind> {
  const { teams, setsPerTeam, clusters } = size;
  const gateway = (number: number) => `${gateways[number % gateways.length]?.url}/v1/zones/${ZONE}/rrsets`;
  const bearer = (token = '') => ({ authorization: `Bearer ${token}` });
  const clustersOf = (team: number) => ({
    url: `${api.url}/api/v1/teams/${slugOf(team)}/clusters/`,
    headers: { cookie: cookies[team] as string },
  });
  return {
    'list of record sets': {
      perSecond: READS['list of record sets'],
      ask: (number) => ({ method: 'GET', url: gateway(number), headers: bearer(tokens[turn(number, teams)]) }),
    },
    'one record set': {
      perSecond: READS['one record set'],
      ask(number) {
        const team = turn(number, teams, 11);
        const url = `${gateway(number)}/${setOf(team, turn(number, setsPerTeam))}/A`;
        return { method: 'GET', url, headers: bearer(tokens[team]) };
      },
    },
    'one cluster': {
      perSecond: READS['one cluster'],
      ask(number) {
        const { team, name } = clusterOf(size, turn(number, clusters, 13));
        const { url, headers } = clustersOf(team);
        return { method: 'GET', url: `${url}${name}/`, headers };
      },
    },
    'list of clusters': {
      perSecond: READS['list of clusters'],
      ask: (number) => ({ method: 'GET', ...clustersOf(turn(number, teams, 17)) }),
    },
    [CHANGE]: {
      perSecond: CHANGES,
      ask(number) {
        const { team, name } = clusterOf(size, turn(number, clusters));
        const { url, headers } = clustersOf(team);
        const body = { spec: clusterSpec(maximum + Math.floor(number / clusters)) };
        return { method: 'PUT', url: `${url}${name}/`, headers, body };
      },
    },
    [WRITE]: {
      perSecond: WRITES,
      ask(number) {
        const team = turn(number, teams, 19);
        const url = `${gateway(number)}/${setOf(team, 0)}/A/actions/set_records`;
        const body = { records: [{ value: address() }] };
        return { method: 'POST', url, headers: bearer(tokens[team]), body };
      },
    },
    [UPSTREAM]: {
      perSecond: WRITES,
      ask: () => ({
        method: 'POST',
        url: `${cloud.apiUrl}/zones/${DIRECT_ZONE}/rrsets/www/A/actions/set_records`,
        headers: bearer(CLOUD_TOKEN),
        body: { records: [{ value: address() }] },
      }),
    },
  };
}
