import { Command, InvalidArgumentError, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { usageError } from '../exit-codes.js';
import { confirmName } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { yesOption } from '../settings/options.js';

/** The team exchanges tokens of these issuers for those of a service account: docs/service-accounts.md. */
export function issuersCommand(withCli: WithCli): Command {
  const command = new Command('issuers').description(
    'trusted issuers: pipelines without a stored token (administrators)',
  );
  command.command('list').description('list the trusted issuers').action(withCli(listIssuers));
  command
    .command('set <name>')
    .description('trust an issuer, or change its conditions; its exchanged tokens end at once')
    .requiredOption('--issuer <address>', 'address of the issuer')
    .requiredOption('--audience <audience>', 'audience of its tokens: the address of this installation')
    .requiredOption('--account <account>', 'the service account that its tokens become')
    .addOption(
      new Option('--claim <pairs...>', 'claims that a token must have, such as sub=repo:acme/shop:*')
        .argParser(claimOption)
        .makeOptionMandatory(),
    )
    .action(withCli(setIssuer));
  command
    .command('delete <name>')
    .description('trust an issuer no longer; its exchanged tokens end at once')
    .addOption(yesOption())
    .action(withCli(deleteIssuer));
  return command;
}

function claimOption(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Use a name and a value, such as ref=refs/heads/main.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

async function listIssuers(cli: Cli): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  showList(cli, (await client.listTrustedIssuers({ team }, { signal })).body.items, 'trusted issuers', {
    NAME: ({ metadata }) => metadata.name,
    ISSUER: ({ spec }) => spec.issuer,
    ACCOUNT: ({ spec }) => spec.serviceAccount,
    CLAIMS: ({ spec }) =>
      Object.entries(spec.claims)
        .map(([claim, value]) => `${claim}=${value}`)
        .join('\n'),
  });
}

interface SetOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly account: string;
  readonly claim: Readonly<Record<string, string>>;
}

async function setIssuer(cli: Cli, name: string, { issuer, audience, account, claim }: SetOptions): Promise<void> {
  const { sub } = claim;
  if (sub === undefined) throw usageError('Say whose tokens are taken: --claim sub=repo:acme/shop:*.');
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.putTrustedIssuer(
    { team, issuer: name },
    { body: { spec: { issuer, audience, claims: { ...claim, sub }, serviceAccount: account } }, signal },
  );
  cli.result(body, `Tokens of ${issuer} become ${account}.\n`);
}

async function deleteIssuer(cli: Cli, name: string, { yes = false }: { readonly yes?: boolean }): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  await confirmName(cli.io, `Pipelines of ${name} lose their access at once.`, name, yes);
  await client.deleteTrustedIssuer({ team, issuer: name }, { signal });
  cli.result({ name, deleted: true }, `${name} is trusted no longer.\n`);
}
