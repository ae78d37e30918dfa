import { parseArgs } from 'node:util';
import { startOrExit } from '@corral/service';
import { benchAll } from './all.js';
import { benchChanges } from './clusters/changes.js';
import { benchReconcile } from './clusters/reconcile.js';
import { benchStreams } from './clusters/streams.js';
import { benchConsole } from './console/console.js';
import { benchDns } from './dns/dns.js';
import { benchGrowth } from './growth/growth.js';
import { say } from './load/report.js';
import { benchNeighbours } from './neighbours/neighbours.js';
import { benchOverload } from './overload.js';
import { benchScarcity } from './scarcity/scarcity.js';
import { benchSizing } from './sizing/sizing.js';
import { benchStart } from './start/start.js';
import { verdictTable } from './verdicts.js';

const usage = [
  'Usage: npm run bench -- all [--long]',
  '       npm run bench -- start',
  '       npm run bench -- dns [--seconds 5] [--only writes]',
  '       npm run bench -- changes [--seconds 20]',
  '       npm run bench -- reconcile [--seconds 15] [--clusters 10000]',
  '       npm run bench -- overload [--seconds 5]',
  '       npm run bench -- streams [--seconds 60] [--streams 1000]',
  '       npm run bench -- growth [--long] [--only "part of a name below docs/benchmarks"] [--calls listAudit] [--plots docs/benchmarks]',
  '       npm run bench -- neighbours [--seconds 20] [--only "part of a rude caller’s name"]',
  '       npm run bench -- scarcity [--seconds 120] [--without-redis]',
  '       npm run bench -- sizing [--seconds 20] [--sets 10000] [--clusters 1000]',
  '       npm run bench -- console [--rounds 5]',
].join('\n');

await startOrExit('npm run bench', async () => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string' },
      sets: { type: 'string' },
      clusters: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      only: { type: 'string' },
      streams: { type: 'string', default: '1000' },
      'without-redis': { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      calls: { type: 'string', default: '' },
      plots: { type: 'string' },
    },
  });
  const [what, ...rest] = positionals;
  const seconds = (otherwise: number) => Number(values.seconds ?? otherwise);
  if (what === 'all' && rest.length === 0) process.exitCode = (await benchAll({ isLong: values.long })) ? 0 : 1;
  else if (what === 'start' && rest.length === 0) say(verdictTable(await benchStart()));
  else if (what === 'dns' && rest.length === 0) {
    const only = values.only === 'writes' ? values.only : undefined;
    say(verdictTable(await benchDns({ readSeconds: seconds(5), writeSeconds: seconds(5), only, explains: true })));
  } else if (what === 'changes' && rest.length === 0) {
    say(verdictTable(await benchChanges({ seconds: seconds(20), explains: true })));
  } else if (what === 'reconcile' && rest.length === 0) {
    const steady = { clusters: Number(values.clusters ?? 10_000), settleSeconds: 60, seconds: 65 };
    say(verdictTable(await benchReconcile({ seconds: seconds(15), workers: [1, 2, 4], steady })));
  } else if (what === 'overload' && rest.length === 0) await benchOverload({ seconds: seconds(5) });
  else if (what === 'streams' && rest.length === 0) {
    say(verdictTable(await benchStreams({ seconds: seconds(60), restSeconds: 35, streams: Number(values.streams) })));
  } else if (what === 'growth' && rest.length === 0) {
    const { long: isLong, only, calls, plots } = values;
    say(verdictTable(await benchGrowth({ isLong, only, calls, ...(plots === undefined ? {} : { plots }) })));
  } else if (what === 'neighbours' && rest.length === 0) {
    await benchNeighbours({ seconds: seconds(20), only: values.only ?? '' });
  } else if (what === 'scarcity' && rest.length === 0) {
    const isPassed = await benchScarcity({ seconds: seconds(120), withRedis: !values['without-redis'] });
    process.exitCode = isPassed ? 0 : 1;
  } else if (what === 'sizing' && rest.length === 0) {
    const [sets, clusters] = [Number(values.sets ?? 10_000), Number(values.clusters ?? 1_000)];
    await benchSizing({ seconds: seconds(20), sets, clusters });
  } else if (what === 'console' && rest.length === 0) await benchConsole({ rounds: Number(values.rounds) });
  else throw new Error(usage);
  process.exit();
});
