import {
  applyChanges,
  type ChangePlan,
  classifyFailure,
  recordSetApi,
  type SetOutcome,
  type SetState,
} from '@corral/domain';
import type { Cli } from '../cli.js';
import { CliExit, type ExitReason } from '../exit-codes.js';
import { startProgress } from '../output/progress.js';
import { printable } from '../output/table.js';
import type { DnsZone } from './dns-zone.js';

/**
 * Carries out a plan and shows how it goes. What is left after a failure is done by running the command again.
 *
 * @throws CliExit unless every change is done
 */
export async function runPlan(cli: Cli, zone: DnsZone, plan: ChangePlan): Promise<void> {
  const { reason, stopped, failures } = await writeSets(cli, zone, plan);
  for (const [key, failure] of failures) cli.alert(printable(`${key}: ${failure}`));
  if (stopped !== null) cli.alert(stopped);
  if (reason === 'ok') return;
  cli.alert(
    reason === 'refused'
      ? 'Correct what is refused, then run the command again for what is left.'
      : 'Run the same command again for what is left.',
  );
  throw new CliExit(reason);
}

/** How a plan was carried out. */
export interface Written {
  readonly reason: ExitReason;
  /** Why the run ended early. */
  readonly stopped: string | null;
  /** Why changes are not done, by their key. */
  readonly failures: ReadonlyMap<string, string>;
}

/** Carries out a plan and shows how it goes. */
export async function writeSets({ io }: Cli, zone: DnsZone, { waves }: ChangePlan): Promise<Written> {
  const changes = waves.flat();
  if (changes.length === 0) return { reason: 'ok', stopped: null, failures: new Map() };
  const progress = startProgress(io, ['record sets']);
  const outcomes: Record<string, SetOutcome> = {};
  const stopped = await applyChanges({
    waves,
    outcomes: {},
    // A write that was begun is not interrupted: it is waited for.
    api: recordSetApi(async () => ({ client: zone.client, zone: zone.zone.name })),
    classify: (error) => classifyFailure(error, 'The DNS token is not accepted any more.'),
    onOutcome(key, outcome) {
      outcomes[key] = outcome;
      const done = Object.values(outcomes).filter(({ state }) => state === 'done').length;
      // Lines that stay are fewer than bars that move.
      if (outcome.state === 'done' && (io.err.isTTY || done % tenth(changes.length) === 0 || done === changes.length)) {
        progress.show('record sets', {
          percent: Math.floor((done / changes.length) * 100),
          text: `${done} of ${changes.length} done`,
        });
      }
    },
    signal: io.signal,
    sleep: io.sleep,
  });
  progress.end();
  const failures = changes.flatMap(({ key }): [string, string][] => {
    const { state, detail } = outcomes[key] ?? { state: 'waiting' as const, detail: undefined };
    return state === 'done' ? [] : [[key, `${stateTexts[state]}${detail === undefined ? '' : `: ${detail}`}`]];
  });
  const states = changes.map(({ key }) => outcomes[key]?.state ?? 'waiting');
  return { reason: reasonOf(states, stopped, io.signal.aborted), stopped, failures: new Map(failures) };
}

const tenth = (many: number): number => Math.max(1, Math.floor(many / 10));

const stateTexts: Readonly<Record<SetState, string>> = {
  waiting: 'not done',
  writing: 'not done',
  written: 'accepted, and not known to be done',
  unknown: 'unknown',
  done: 'done',
  refused: 'refused',
  skipped: 'skipped',
};

function reasonOf(states: readonly SetState[], stopped: string | null, isInterrupted: boolean): ExitReason {
  if (isInterrupted) return 'interrupted';
  if (stopped !== null) return 'signedOut';
  if (states.some((state) => state === 'unknown' || state === 'waiting')) return 'unavailable';
  if (states.includes('refused')) return 'refused';
  return states.includes('skipped') ? 'conflict' : 'ok';
}
