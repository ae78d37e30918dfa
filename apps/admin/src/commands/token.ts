import { type DnsTokenRecord, issueDnsToken, revokeDnsToken } from '@corral/auth';
import { parseId } from '@corral/contracts';
import { lockTeamChanges } from '@corral/database';
import { Command, InvalidArgumentError } from 'commander';
import { type WithContext, writtenByWork } from '../admin-context.js';
import { OperatorError } from '../operator-error.js';
import { parseExpiry } from '../option-parsers.js';
import { renderTable } from '../table.js';

interface IssueOptions {
  readonly name: string;
  readonly expires?: Date;
  readonly within?: string;
  readonly types?: readonly string[];
}

export function tokenCommand(withContext: WithContext): Command {
  const command = new Command('token').description('issue, list and revoke tokens of the DNS API');
  command
    .command('issue <team>')
    .description('issue a token and print it; it is shown only once')
    .requiredOption('--name <text>', 'purpose of the token, shown in lists and in the audit log')
    .option(
      '--expires <when>',
      'expiry as a time (RFC 3339) or a duration: 12h, 30d, 8w (default: never)',
      expiryOption,
    )
    .option(
      '--within <name>',
      'restrict to this name and names below it, for example ci.acme (default: all names of the team)',
    )
    .option(
      '--types <list>',
      'restrict writes to these record types, for example A,TXT (default: all four)',
      listOption,
    )
    .action(
      withContext(async ({ getTeam, change, operator, print }, slug: string, options: IssueOptions) => {
        const { name, expires, within, types } = options;
        const wanted = { name, expiresAt: expires, withinName: within, withinTypes: types };
        const team = await getTeam(slug);
        const { token, record } = await change(writtenByWork, (tx) =>
          issueDnsToken(tx, team, wanted, { userId: null, requestId: null, operator }),
        );
        print({ token, ...record }, issuedText(slug, token, record));
      }),
    );
  command
    .command('list <team>')
    .description('list the tokens of a team, revoked ones included')
    .action(
      withContext(async ({ getTeam, tokens, print }, slug: string) => {
        const list = await tokens.listTokens(await getTeam(slug));
        print(list, list.length === 0 ? `Team ${slug} has no tokens.\n` : tokenTable(list, new Date()));
      }),
    );
  command
    .command('revoke <team> <token-id>')
    .description('revoke a token permanently; requests with it fail from then on')
    .action(
      withContext(async ({ getTeam, tokens, confirm, change, operator, print }, slug: string, tokenId: string) => {
        const team = await getTeam(slug);
        const id = parseId(tokenId);
        const known = (await tokens.listTokens(team)).find((token) => token.id === id && token.revokedAt === null);
        if (id !== null && known !== undefined)
          await confirm(`Token "${known.name}" of team ${slug} is revoked for good.`);
        await change(writtenByWork, async (tx) => {
          await lockTeamChanges(tx, team.id);
          const by = { userId: null, requestId: null, operator };
          if (id !== null && (await revokeDnsToken(tx, team, id, by))) return;
          throw new OperatorError(
            `Team "${slug}" has no token ${tokenId}, or it is already revoked. \`token list ${slug}\` shows the IDs.`,
          );
        });
        print({ id: tokenId, revoked: true }, `Token ${tokenId} of team ${slug} is revoked.\n`);
      }),
    );
  return command;
}

function expiryOption(text: string): Date {
  const expiry = parseExpiry(text, new Date());
  if (expiry === null)
    throw new InvalidArgumentError('Use a time such as 2027-01-31T00:00:00Z or a duration such as 30d.');
  return expiry;
}

function listOption(text: string): string[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.includes('')) throw new InvalidArgumentError('Use a comma-separated list of types, such as A,TXT.');
  return words;
}

function issuedText(slug: string, token: string, record: DnsTokenRecord): string {
  const until = record.expiresAt === null ? 'until it is revoked' : `until ${record.expiresAt.toISOString()}`;
  return `Token "${record.name}" of team ${slug}, valid ${until}:\n\n  ${token}\n\nIt is shown only once. Store it in a safe place now. Its ID is ${record.id}.\n`;
}

function tokenTable(tokens: readonly DnsTokenRecord[], now: Date): string {
  return renderTable(tokens, {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    STATE: (token) => stateOf(token, now),
    WITHIN: ({ withinName, withinTypes }) => [withinName ?? '', withinTypes.join(',')].filter(Boolean).join(' '),
    CREATED: ({ createdAt }) => createdAt.toISOString(),
    EXPIRES: ({ expiresAt }) => expiresAt?.toISOString() ?? null,
    'LAST USED': ({ lastUsedAt }) => lastUsedAt?.toISOString() ?? null,
  });
}

function stateOf({ revokedAt, expiresAt }: DnsTokenRecord, now: Date): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
}
