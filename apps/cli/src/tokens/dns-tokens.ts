import type { DnsTokenBody, DnsTokenState, WritableType } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { CliError } from '../exit-codes.js';
import { showList } from '../output/show-list.js';

export async function listDnsTokens(cli: Cli, { state }: { readonly state?: DnsTokenState }): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const tokens = (await client.listAll('listDnsTokens', { team }, { query: { state }, signal })) as DnsTokenBody[];
  showList(cli, tokens, 'DNS tokens', {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    STATE: (token) => token.state,
    WITHIN: ({ withinName, withinTypes }) => [withinName ?? '', withinTypes.join(',')].filter(Boolean).join(' '),
    EXPIRES: ({ expiresAt }) => expiresAt,
    'LAST USED': ({ lastUsedAt }) => lastUsedAt,
    BY: ({ createdBy }) => createdBy?.email,
  });
}

interface CreateOptions {
  readonly within?: string;
  readonly types?: WritableType[];
  /** Milliseconds. */
  readonly expires?: number;
}

export async function createDnsToken(cli: Cli, name: string, { within, types, expires }: CreateOptions): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const expiresAt = expires === undefined ? null : new Date(Date.now() + expires).toISOString();
  const { body } = await client.createDnsToken(
    { team },
    {
      body: { name, withinName: within ?? null, withinTypes: types ?? [], expiresAt },
      signal,
    },
  );
  // The client repeated the request, because its first answer was lost.
  if (body.token === null) {
    throw new CliError(
      'unavailable',
      `The answer with the token was lost. Revoke token ${body.id} and create another one.`,
    );
  }
  showToken(cli, body, body.token);
}

export async function revokeDnsToken(cli: Cli, id: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  await client.revokeDnsToken({ team, id }, { signal });
  cli.result({ id, revoked: true }, `Token ${id} is revoked.\n`);
}

/** The token alone on standard output, so that `$(…)` gets nothing else. */
export function showToken(
  cli: Cli,
  body: { readonly id: string; readonly expiresAt: string | null },
  token: string,
): void {
  if (cli.options.output === 'table') {
    const until = body.expiresAt === null ? 'until it is revoked' : `until ${body.expiresAt}`;
    cli.note(`Token ${body.id}, valid ${until}. It is shown only now.`);
  }
  cli.result(body, `${token}\n`);
}
