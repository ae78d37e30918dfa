import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectClusters } from '../clusters/team-api.js';
import { usageError } from '../exit-codes.js';
import { readAllBytes } from '../output/ask.js';

/** Any request of the cluster API, for what has no command of its own. */
export function apiCommand(withCli: WithCli): Command {
  return new Command('api')
    .description('send a request to the cluster API and print its answer')
    .argument('<method>', 'such as GET')
    .argument('<path>', 'such as /api/v1/teams/{team}/clusters/; {team} is filled in')
    .option('-d, --data <file>', 'JSON to send; `-` reads standard input')
    .option('--if-match <etag>', 'change the resource only while it has this entity tag')
    .action(withCli(callApi));
}

interface ApiOptions {
  readonly data?: string;
  readonly ifMatch?: string;
}

async function callApi(cli: Cli, method: string, path: string, { data, ifMatch }: ApiOptions): Promise<void> {
  if (!path.startsWith('/') || path.startsWith('//')) throw usageError('The path begins with /, such as /api/v1/me/.');
  const { client, team } = await connectClusters(cli);
  if (path.includes('{team}') && team === null) throw usageError('{team} in the path needs --team or CORRAL_TEAM.');
  const text = await client.request({
    method: method.toUpperCase(),
    path: path.replaceAll('{team}', team ?? ''),
    body: data === undefined ? undefined : await textOf(cli, data),
    ifMatch,
    signal: cli.io.signal,
  });
  if (text === '') return;
  const body = jsonOf(text);
  if (body === undefined) return cli.raw(text.endsWith('\n') ? text : `${text}\n`);
  cli.result(body, `${JSON.stringify(body, null, 2)}\n`);
}

const textOf = async (cli: Cli, file: string): Promise<string> =>
  file === '-' ? (await readAllBytes(cli.io)).toString('utf8') : readFile(file, 'utf8');

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
