import type { Cli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { renderTable } from '../output/table.js';
import { showToken } from './dns-tokens.js';

export async function listAccountTokens(cli: Cli, account: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { items } = (await client.listAccountTokens({ team, account }, { signal })).body;
  cli.result(items, () =>
    items.length === 0
      ? `Account ${account} has no tokens.\n`
      : renderTable(items, {
          ID: ({ id }) => id,
          CREATED: ({ createdAt }) => createdAt,
          EXPIRES: ({ expiresAt }) => expiresAt,
          'LAST USED': ({ lastUsedAt }) => lastUsedAt,
          REVOKED: ({ revokedAt }) => revokedAt,
          BY: ({ createdBy }) => createdBy?.email,
        }),
  );
}

export async function createAccountToken(
  cli: Cli,
  account: string,
  { days }: { readonly days: number },
): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.createAccountToken({ team, account }, { body: { expiresInDays: days }, signal });
  showToken(cli, body, body.token);
}

export async function revokeAccountToken(cli: Cli, account: string, id: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  await client.revokeAccountToken({ team, account, id }, { signal });
  cli.result({ id, revoked: true }, `Token ${id} of account ${account} is revoked.\n`);
}
