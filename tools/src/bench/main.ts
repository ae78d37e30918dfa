import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { startOrExit } from '@corral/service';
import { type Installation, startInstallation } from './installation.js';
import { type Measured, measure } from './measure.js';
import { type Compared, compareReads } from './reads.js';
import { type Aim, isMet, say, table, thousands, verdictOf } from './report.js';
import { few, long, type Size, usual } from './sizes.js';
import { type Converged, convergeSlowly } from './slow-garden.js';

const usage = 'Usage: npm run bench [-- --long | --workers] [--seconds 120]';
const [OF_BARE_EXPRESS, OF_POWERDNS] = [0.5, 15];
/** What several reconcilers do of one's work at least, by their number. */
const OF_ONE: Readonly<Record<number, number>> = { 2: 1.7, 4: 3 };
/** Calls of several reconcilers per change, in proportion to those of one: a poll may fall into either. */
const CALLS_OF_ONE = 1.02;
const TURN_SECONDS = 3;
/** The load script takes about a sixth of a core. */
const OTHERS_MOST = 25;

await startOrExit('npm run bench', async () => {
  const options = { long: { type: 'boolean' }, workers: { type: 'boolean' }, seconds: { type: 'string' } } as const;
  const { values } = parseArgs({ options });
  const seconds = Number(values.seconds ?? 120);
  if (!(seconds >= 1) || (values.long && values.workers)) throw new Error(usage);
  const installation = await startInstallation(values.workers ? few : values.long ? long : usual);
  try {
    say(titleOf(installation.size, seconds));
    const aims = values.workers ? [] : await measureEnvelope(installation, seconds);
    if (values.workers || values.long) aims.push(...reportSlow(await convergeSlowly(installation)));
    if (!values.workers) aims.push(...reportReads(await compareReads(installation, TURN_SECONDS)));
    const missed = aims.filter((aim) => !isMet(aim));
    say(`${aims.length - missed.length} of ${aims.length} aims are met.`);
    for (const { what, value, bound, isMost = true } of missed) {
      say(`Missed: ${what}: ${value.toFixed(2)} instead of ${isMost ? 'at most' : 'at least'} ${bound.toFixed(2)}`);
    }
    process.exitCode = missed.length === 0 ? 0 : 1;
  } finally {
    await installation.rig.stop();
  }
  process.exit();
});

async function measureEnvelope(installation: Installation, seconds: number): Promise<Aim[]> {
  const measured = await measure(installation, seconds);
  reportEnvelope(measured);
  return [...measured.aims];
}

function titleOf({ teams, setsPerTeam, clusters, auditEntries }: Size, seconds: number): string {
  const processors = `${cpus().length} cores (${cpus()[0]?.model.trim()})`;
  return [
    `${thousands(teams)} teams, ${thousands(teams * setsPerTeam)} record sets, ${thousands(clusters)} clusters,`,
    `${thousands(auditEntries)} audit entries; ${seconds} s on ${processors}, Node.js ${process.version}\n`,
  ].join('\n');
}

function reportEnvelope({ rows, processes, others }: Measured): void {
  const ms = (value: number) => value.toFixed(1);
  say(
    table(
      ['request', 'per second', 'p50 ms', 'p95 ms', 'p99 ms', 'refused', 'aim: p95 ms', ''],
      rows.map(({ what, perSecond, p50Ms, p95Ms, p99Ms, refused, aimMs }) => [
        what,
        String(perSecond),
        ms(p50Ms),
        ms(p95Ms),
        ms(p99Ms),
        String(refused),
        aimMs === null ? '' : aimMs.toFixed(0),
        aimMs === null ? '' : verdictOf({ what, value: p95Ms, bound: aimMs }),
      ]),
    ),
  );
  for (const { what, reasons } of rows) {
    for (const [reason, count] of Object.entries(reasons)) say(`${what}: ${count} times ${reason}`);
  }
  say(
    table(
      ['process', 'quiet: % of a core', 'aim', '', 'under load: % of a core', 'memory, MiB'],
      processes.map(({ name, quiet, busy, memoryMiB, aim }) => [
        name,
        quiet.toFixed(2),
        aim === null ? '' : String(aim),
        aim === null ? '' : verdictOf({ what: name, value: quiet, bound: aim }),
        busy.toFixed(0),
        String(memoryMiB),
      ]),
    ),
  );
  say(`The load script and other programs used ${others.toFixed(0)} % of all cores under the load.`);
  if (others > OTHERS_MOST) say('That is more than the load script takes: measure again while nothing else runs.');
  say('');
}

function reportReads(compared: readonly Compared[]): Aim[] {
  const rows = compared.flatMap(({ what, gateway, bareExpress, gatewayPlainly, powerDns }) => [
    { what, beside: 'bare Express', gateway, other: bareExpress, bound: OF_BARE_EXPRESS },
    ...(powerDns === null
      ? []
      : [{ what, beside: 'PowerDNS', gateway: gatewayPlainly, other: powerDns, bound: OF_POWERDNS }]),
  ]);
  const aims = rows.map(({ what, beside, gateway, other, bound }) => ({
    what: `${what} of record sets, times ${beside}`,
    value: gateway / other,
    bound,
    isMost: false,
  }));
  say(
    table(
      ['reads per second, 16 connections', 'one gateway', 'the other', 'times', 'aim: at least', ''],
      rows.map(({ what, beside, gateway, other, bound }, at) => [
        `${what}, beside ${beside}`,
        gateway.toFixed(0),
        other.toFixed(0),
        (gateway / other).toFixed(2),
        String(bound),
        verdictOf(aims[at] as Aim),
      ]),
    ),
  );
  if (compared.some(({ powerDns }) => powerDns === null)) {
    say('PowerDNS is not installed (Debian: pdns-server, pdns-backend-pgsql).\n');
  }
  return aims;
}

function reportSlow(measured: readonly Converged[]): Aim[] {
  const [one, ...several] = measured as readonly [Converged, ...Converged[]];
  const aims = several.flatMap(({ workers, changesPerSecond, callsPerChange }): Aim[] => [
    {
      what: `changes per second of ${workers} reconcilers, times one`,
      value: changesPerSecond / one.changesPerSecond,
      bound: OF_ONE[workers] as number,
      isMost: false,
    },
    {
      what: `calls per change of ${workers} reconcilers, times one`,
      value: callsPerChange / one.callsPerChange,
      bound: CALLS_OF_ONE,
    },
  ]);
  say(
    table(
      [
        'reconcilers, each call to the garden 1.5 s',
        'changes per second',
        'times one',
        'aim: at least',
        'calls per change',
      ],
      measured.map(({ workers, changesPerSecond, callsPerChange }) => [
        String(workers),
        changesPerSecond.toFixed(2),
        (changesPerSecond / one.changesPerSecond).toFixed(2),
        String(OF_ONE[workers] ?? ''),
        callsPerChange.toFixed(2),
      ]),
    ),
  );
  return aims;
}
