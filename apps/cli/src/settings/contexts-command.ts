import { Command } from 'commander';
import type { WithCli } from '../cli.js';
import { usageError } from '../exit-codes.js';
import { renderTable } from '../output/table.js';
import type { ConfigFile } from './config-file.js';

export function contextsCommand(withCli: WithCli): Command {
  const command = new Command('contexts').description('list and choose installations and teams');
  command
    .command('list')
    .description('list the contexts, without their tokens')
    .action(
      withCli(async (cli) => {
        const { currentContext, contexts } = await cli.readConfig();
        const rows = Object.entries(contexts).map(
          ([name, { url, team, dnsUrl, session, token, dnsToken, expiresAt }]) => ({
            name,
            isCurrent: name === currentContext,
            url: url ?? null,
            team: team ?? null,
            dnsUrl: dnsUrl ?? null,
            hasToken: (session ?? token) !== undefined,
            hasDnsToken: dnsToken !== undefined,
            expiresAt: expiresAt ?? null,
          }),
        );
        cli.result(rows, () =>
          rows.length === 0
            ? `There are no contexts in ${cli.configPath}. \`corral login\` makes one.\n`
            : renderTable(rows, {
                '': ({ isCurrent }) => (isCurrent ? '*' : ' '),
                NAME: ({ name }) => name,
                TEAM: ({ team }) => team,
                URL: ({ url }) => url,
                'DNS URL': ({ dnsUrl }) => dnsUrl,
                EXPIRES: ({ expiresAt }) => expiresAt,
              }),
        );
      }),
    );
  command
    .command('use <name>')
    .description('make a context the current one')
    .action(
      withCli(async (cli, name: string) => {
        await cli.changeConfig((config) => ({ ...known(config, name), currentContext: name }));
        cli.note(`The current context is ${name}.`);
      }),
    );
  command
    .command('delete <name>')
    .description('delete a context and its tokens; they stay valid: `corral logout` ends a session')
    .action(
      withCli(async (cli, name: string) => {
        await cli.changeConfig((config) => {
          const { [name]: _, ...contexts } = known(config, name).contexts;
          return { contexts, currentContext: config.currentContext === name ? null : config.currentContext };
        });
        cli.note(`The context ${name} is deleted.`);
      }),
    );
  return command;
}

function known(config: ConfigFile, name: string): ConfigFile {
  if (!Object.hasOwn(config.contexts, name)) throw usageError(`There is no context ${name}.`);
  return config;
}
