import type { Cli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { ProgramFailed, usageError } from '../exit-codes.js';

/** The DNS token ends no later than a token by exchange, which must be young enough to leave a command this time. */
const COMMAND_MS = 600_000;

/** Gives the team's token of 15 minutes for the DNS API to a command, as clients of the upstream expect it, or prints it. */
export async function dnsToken(cli: Cli, command: readonly string[]): Promise<void> {
  const { client, team, signal } = await connectTeam(cli, { spareMs: COMMAND_MS });
  const { body } = await client.startDnsSession({ team }, { signal });
  const { token, endpoint, expiresAt } = body;
  if (command.length === 0) {
    if (cli.options.output === 'table') cli.note(`Valid until ${expiresAt}, for ${endpoint}.`);
    cli.result(body, `${token}\n`);
    return;
  }
  const code = await cli.io.run(command, { ...cli.io.env, HCLOUD_TOKEN: token, HCLOUD_ENDPOINT: endpoint });
  if (code === null) throw usageError(`${command[0]} cannot be run. Check its name and PATH.`);
  if (code !== 0) throw new ProgramFailed(code);
}
