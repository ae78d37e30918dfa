import type { ClusterSchemas } from '@corral/client';
import { type TeamEventKind, teamEventKinds } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { confirmName } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { durationOption, yesOption } from '../settings/options.js';

/** The events of the team are posted to webhooks: docs/webhooks.md. */
export function webhooksCommand(withCli: WithCli): Command {
  const command = new Command('webhooks').description('events of the team, posted to an address (administrators)');
  command.command('list').description('list the webhooks, and which are failing').action(withCli(listWebhooks));
  command
    .command('set <name>')
    .description('create a webhook and show its secret, or change it')
    .requiredOption('--url <url>', 'where events are posted')
    .addOption(new Option('--kind <kinds...>', 'only events about these kinds').choices(teamEventKinds))
    .action(withCli(setWebhook));
  command
    .command('secret <name>')
    .description('replace the secret and show the new one; the old one also signs for a day')
    .action(withCli(replaceSecret));
  command
    .command('test <name>')
    .description('send a test next; a failing receiver is tried at once')
    .action(withCli(testWebhook));
  command
    .command('replay <name>')
    .description('send events again')
    .addOption(
      new Option('--for <duration>', 'those of the last so long, such as 2h; at most a day')
        .argParser(durationOption)
        .makeOptionMandatory(),
    )
    .action(withCli(replayWebhook));
  command
    .command('delete <name>')
    .description('delete a webhook; nothing more is sent')
    .addOption(yesOption())
    .action(withCli(deleteWebhook));
  return command;
}

const stateOf = ({ failingSince, lastFailure, nextTryAt }: ClusterSchemas['Webhook']['status']): string =>
  failingSince === null ? 'ok' : `failing since ${failingSince}: ${lastFailure}; next try at ${nextTryAt}`;

async function listWebhooks(cli: Cli): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  showList(cli, (await client.listWebhooks({ team }, { signal })).body.items, 'webhooks', {
    NAME: ({ metadata }) => metadata.name,
    URL: ({ spec }) => spec.url,
    KINDS: ({ spec }) => spec.kinds.join(',') || 'all',
    'LAST DELIVERY': ({ status }) => status.deliveredAt,
    STATE: ({ status }) => stateOf(status),
  });
}

interface SetOptions {
  readonly url: string;
  readonly kind?: TeamEventKind[];
}

async function setWebhook(cli: Cli, name: string, { url, kind = [] }: SetOptions): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.putWebhook({ team, webhook: name }, { body: { spec: { url, kinds: kind } }, signal });
  if ('secret' in body) return showSecret(cli, name, body, body.secret);
  cli.result(body, `Webhook ${name} is set.\n`);
}

async function replaceSecret(cli: Cli, name: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.createWebhookSecret({ team, webhook: name }, { signal });
  showSecret(cli, name, body, body.secret);
}

/** The secret alone on standard output, so that `$(…)` gets nothing else. */
function showSecret(cli: Cli, name: string, body: object, secret: string): void {
  if (cli.options.output === 'table') cli.note(`Secret of webhook ${name}. It is shown only now.`);
  cli.result(body, `${secret}\n`);
}

async function testWebhook(cli: Cli, name: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.testWebhook({ team, webhook: name }, { signal });
  cli.result(body, `A test is on its way. See \`corral webhooks list\`.\n`);
}

async function replayWebhook(cli: Cli, name: string, { for: ms }: { readonly for: number }): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const since = new Date(Date.now() - ms).toISOString();
  const { body } = await client.replayWebhook({ team, webhook: name }, { body: { since }, signal });
  cli.result(body, `Events since ${since} are sent again.\n`);
}

async function deleteWebhook(cli: Cli, name: string, { yes = false }: { readonly yes?: boolean }): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  await confirmName(cli.io, `Webhook ${name} gets nothing more.`, name, yes);
  await client.deleteWebhook({ team, webhook: name }, { signal });
  cli.result({ name, deleted: true }, `Webhook ${name} is deleted.\n`);
}
