import type { Cli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { showList } from '../output/show-list.js';

export async function listKubeconfigs(cli: Cli, name: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { items } = (await client.listKubeconfigIssues({ team, name }, { signal })).body;
  showList(cli, items, 'issued kubeconfigs', {
    ISSUED: ({ createdAt }) => createdAt,
    TO: ({ issuedTo, serviceAccount }) => serviceAccount ?? issuedTo?.email,
    SCOPE: ({ scope }) => scope,
    ENDS: ({ expiresAt }) => expiresAt,
    OUTCOME: ({ outcome }) => outcome,
  });
}
