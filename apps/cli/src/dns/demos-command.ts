import { Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { confirmName } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { durationOption, yesOption } from '../settings/options.js';
import { connectDns } from './dns-zone.js';

/** Names that clean up after themselves. */
export function demosCommand(withCli: WithCli): Command {
  const command = new Command('demos').description('demos: short-lived names with a token of their own');
  command.command('list').description('list the live demos').action(withCli(listDemos));
  command
    .command('create [name]')
    .description('create a demo and print its token; it is shown only once')
    .option('--for <duration>', 'how long it lives, such as 4h or 2d (default: 4h)', durationOption)
    .action(withCli(createDemo));
  command
    .command('extend <label>')
    .description('set the end of a demo, from now; it lives for at most 7 days')
    .requiredOption('--for <duration>', 'such as 4h or 2d', durationOption)
    .action(withCli(extendDemo));
  command
    .command('delete <label>')
    .description('end a demo: its records are deleted, its token is revoked')
    .addOption(yesOption())
    .action(withCli(deleteDemo));
  return command;
}

const MS_PER_SECOND = 1_000;
const secondsOf = (ms: number): number => Math.floor(ms / MS_PER_SECOND);

async function listDemos(cli: Cli): Promise<void> {
  const client = await connectDns(cli);
  const { demos } = (await client.listDemos({}, { signal: cli.io.signal })).body;
  showList(cli, demos, 'demos', {
    LABEL: ({ label }) => label,
    NAME: ({ name, zone }) => `${name}.${zone}`,
    RECORDS: ({ records }) => records,
    ENDS: (demo) => demo.expires_at,
  });
}

async function createDemo(cli: Cli, name: string | undefined, options: { readonly for?: number }): Promise<void> {
  const client = await connectDns(cli);
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(options.for === undefined ? {} : { ttl: secondsOf(options.for) }),
  };
  const answer = (await client.createDemo({}, { body, signal: cli.io.signal })).body;
  const { demo, token } = answer;
  if (cli.options.output === 'table') {
    cli.note(
      `Demo ${demo.label}: write ${demo.name}.${demo.zone} and below, until ${demo.expires_at}. Its token is shown only now.`,
    );
  }
  cli.result(answer, `${token}\n`);
}

async function extendDemo(cli: Cli, label: string, options: { readonly for: number }): Promise<void> {
  const client = await connectDns(cli);
  const answer = await client.extendDemo({ label }, { body: { ttl: secondsOf(options.for) }, signal: cli.io.signal });
  cli.result(answer.body.demo, `Demo ${label} lives until ${answer.body.demo.expires_at}.\n`);
}

async function deleteDemo(cli: Cli, label: string, { yes = false }: { readonly yes?: boolean }): Promise<void> {
  const client = await connectDns(cli);
  await confirmName(cli.io, 'Its records are deleted.', label, yes);
  await client.deleteDemo({ label }, { signal: cli.io.signal });
  cli.result({ label, deleted: true }, `Demo ${label} has ended.\n`);
}
