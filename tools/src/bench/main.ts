import { parseArgs } from 'node:util';
import { startOrExit } from '@corral/service';
import { benchDns } from './dns.js';

const usage = 'Usage: npm run bench -- dns [--seconds 5] [--sets 1000000]';

await startOrExit('npm run bench', async () => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: 'string', default: '5' }, sets: { type: 'string', default: '1000000' } },
  });
  if (positionals.length !== 1 || positionals[0] !== 'dns') throw new Error(usage);
  await benchDns({ seconds: Number(values.seconds), sets: Number(values.sets) });
  process.exit(0);
});
