import { type RunningConsole, startConsole } from '../../console/running-console.js';
import { percentile } from '../load/load.js';
import { say, table } from '../load/report.js';
import { startBarePage } from './bare-page.js';
import { type PageLoad, timeFilter, timeLoad } from './page-timing.js';

const ROWS = 200;
/** Its second and third key leave fewer rows. */
const FILTER_TEXT = '-19';
const UNLIMITED = '1000000';
const WRITES_AT_ONCE = 4;

export interface ConsoleBenchOptions {
  /** How often each page is loaded, alternately. */
  readonly rounds: number;
}

/** Time until pages of the console show something, with a cold cache and a CPU four times slower, beside a bare page. */
export async function benchConsole({ rounds }: ConsoleBenchOptions): Promise<void> {
  const bare = await startBarePage(ROWS);
  const running = await startConsole({
    CLUSTERS_PER_TEAM: String(ROWS),
    DNS_RECORDS_PER_TEAM: String(2 * ROWS),
    LIMIT_PER_TOKEN: UNLIMITED,
    LIMIT_PER_TEAM: UNLIMITED,
    LIMIT_PER_PERSON: UNLIMITED,
    LIMIT_PER_ADDRESS: UNLIMITED,
  });
  try {
    say(`Creating ${ROWS} record sets and ${ROWS} clusters …`);
    await createRows(running);
    const row = `tbody tr:nth-child(${ROWS})`;
    const pages = [
      { what: 'a bare page, 200 rows', url: bare.url, data: row },
      { what: 'home', url: running.pageUrl(''), data: 'time' },
      { what: 'record sets, 200', url: running.pageUrl('/dns/records'), data: row },
      { what: 'clusters, 200', url: running.pageUrl('/clusters'), data: row },
    ];
    const loads = new Map<string, PageLoad[]>(pages.map(({ what }) => [what, []]));
    const filters = new Map<string, number[]>(pages.map(({ what }) => [what, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const { what, url, data } of pages) {
        // A new context has an empty cache.
        const context = await running.signedIn({ theme: 'light', width: 1280, height: 800 });
        loads.get(what)?.push(await timeLoad(context, url, data));
        if (data === row) filters.get(what)?.push(...(await timeFilter(context, url, FILTER_TEXT)));
        await context.close();
      }
    }
    const head = ['median and maximum, ms', 'first content', 'maximum', 'data', 'maximum', 'filter', 'maximum'];
    const rows = pages.map(({ what }) => {
      const all = loads.get(what) ?? [];
      return [
        what,
        ...summary(all.map(({ firstContentMs }) => firstContentMs)),
        ...summary(all.map(({ dataMs }) => dataMs)),
        ...summary(filters.get(what) ?? []),
      ];
    });
    say(table(head, rows));
  } finally {
    await running.stop();
    await bare.close();
  }
}

/** Median and maximum. */
function summary(times: readonly number[]): [string, string] {
  if (times.length === 0) return ['', ''];
  const sorted = times.toSorted((one, other) => one - other);
  return [percentile(sorted, 0.5).toFixed(0), percentile(sorted, 1).toFixed(0)];
}

async function createRows({ dev, api, dns }: RunningConsole): Promise<void> {
  const { region, kubernetesVersion } = dev.defaults;
  const team = dev.teams[0]?.slug;
  const pending = Array.from({ length: ROWS }, (_, index) => index);
  const create = async (): Promise<void> => {
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      const records = [{ value: `192.0.2.${index}` }];
      await dns('POST', '/rrsets', { name: `name-${index}.${team}`, type: 'A', ttl: 300, records });
      const spec = { connectionRef: 'main', region, kubernetesVersion, nodePools: [] };
      await api('PUT', `/api/v1/teams/${team}/clusters/name-${index}/`, { spec });
    }
  };
  await Promise.all(Array.from({ length: WRITES_AT_ONCE }, create));
}
