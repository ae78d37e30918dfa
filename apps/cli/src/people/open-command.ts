import { Argument, Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';

/** Pages of the console, by the word of the command for what they show. */
const pages = {
  home: '',
  records: '/dns/records',
  tokens: '/dns/tokens',
  demos: '/dns/demos',
  clusters: '/clusters',
  connections: '/connections',
  usage: '/usage',
  people: '/people',
  audit: '/audit',
  settings: '/settings',
} as const;

type PageName = keyof typeof pages;

export function openCommand(withCli: WithCli): Command {
  return new Command('open')
    .description('open a page of the web console')
    .addArgument(new Argument('[page]', 'which page').choices(Object.keys(pages)).default('home'))
    .argument('[name]', 'with `clusters` or `connections`: of this one')
    .option('--print', 'print the address instead of opening it')
    .action(withCli(openPage));
}

async function openPage(cli: Cli, page: PageName, name: string | undefined, { print = false }: { print?: boolean }) {
  const { url, team } = await connectTeam(cli);
  const thing = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  const address = `${url}/console/teams/${team}${pages[page]}${thing}`;
  if (!print) await cli.io.openBrowser(address);
  cli.result({ address }, `${address}\n`);
}
