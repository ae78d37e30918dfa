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
export async function runPlan(cli: Cli, zone: DnsZone, { waves }: ChangePlan): Promise<void> {
  const { io } = cli;
  const changes = waves.flat();
  if (changes.length === 0) return;
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
  for (const { key } of changes) {
    const { state, detail } = outcomes[key] ?? { state: 'waiting' as const, detail: undefined };
    if (state !== 'done')
      cli.note(printable(`${key}: ${stateTexts[state]}${detail === undefined ? '' : `: ${detail}`}`));
  }
  if (stopped !== null) cli.note(stopped);
  const reason = reasonOf(
    changes.map(({ key }) => outcomes[key]?.state ?? 'waiting'),
    stopped,
    io.signal.aborted,
  );
  if (reason === 'ok') return;
  cli.note(
    reason === 'refused'
      ? 'Correct what is refused, then run the command again for what is left.'
      : 'Run the same command again for what is left.',
  );
  throw new CliExit(reason);
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
