import { Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { commonReason } from '../clusters/plan-documents.js';
import { CliExit, type ExitReason } from '../exit-codes.js';
import { endOf } from '../output/report-error.js';
import { printable } from '../output/table.js';
import { certificateOf, clockOf, dnsOf, isOfDnsOnly, type Result, reach, tokenOf } from './checks.js';

interface Checked extends Result {
  readonly check: string;
  /** Why it failed. */
  readonly reason?: ExitReason;
}

/** Whether this machine can work with an installation, and what is in the way. */
export function doctorCommand(withCli: WithCli): Command {
  return new Command('doctor')
    .description(
      'check address, certificate, clock, token and DNS API, a line each; fails if one of them does not work',
    )
    .action(withCli(diagnose));
}

async function diagnose(cli: Cli): Promise<void> {
  const results: Checked[] = [];
  /** @returns null if it failed */
  const run = async <R extends Result>(check: string, look: () => Promise<R>): Promise<R | null> => {
    try {
      const result = await look();
      results.push({ check, ...result });
      return result;
    } catch (error) {
      const { sentence, reason } = endOf(error, cli.io);
      results.push({ check, state: 'failed', text: sentence ?? reason, reason });
      return null;
    }
  };
  const answered = isOfDnsOnly(await cli.given()) ? null : await run('address', () => reach(cli));
  if (answered !== null) {
    await run('certificate', () => certificateOf(answered));
    await run('clock', async () => clockOf(answered));
    await run('token', () => tokenOf(cli));
  }
  await run('dns', () => dnsOf(cli));
  cli.result(
    results.map(({ check, state, text }) => ({ check, state, text })),
    () =>
      results.map(({ check, state, text }) => `${state.padEnd(11)}${check.padEnd(13)}${printable(text)}\n`).join(''),
  );
  const reasons = results.flatMap(({ reason }) => (reason === undefined ? [] : [reason]));
  if (reasons.length > 0) throw new CliExit(commonReason(reasons));
}
