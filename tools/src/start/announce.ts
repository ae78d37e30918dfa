import type { DevTeam } from './dev-teams.js';

export interface Running {
  readonly dnsUrl: string;
  readonly zoneName: string;
  readonly teams: readonly DevTeam[];
  /** Null when another upstream is used. */
  readonly localCloud: { readonly dnsPort: number; readonly adminUrl: string } | null;
  readonly docsUrl: string;
  readonly logs: string;
  /** Null when it is `.corral/`. */
  readonly stateDir: string | null;
}

/** What a person needs to go on: addresses, tokens, and commands to try as they stand. */
export function announcement({ dnsUrl, zoneName, teams, localCloud, docsUrl, logs, stateDir }: Running): string {
  const [first] = teams;
  const token = first?.dnsToken ?? '';
  const name = `api.${first?.slug}`;
  const body = `{"name":"${name}","type":"A","ttl":300,"records":[{"value":"192.0.2.10"}]}`;
  return [
    '',
    'Corral is ready.',
    '',
    `  DNS API      ${dnsUrl}   (reference: ${docsUrl})`,
    `  Zone         ${zoneName}`,
    ...teams.map(({ slug, dnsToken }) => `  Team ${slug.padEnd(7)} ${dnsToken}`),
    ...(localCloud === null
      ? []
      : [`  Local cloud  ${localCloud.adminUrl}/admin/zones (contents; faults and call counts beside it)`]),
    `  Logs         ${logs}`,
    '',
    'Try, in another shell:',
    '',
    `  export HCLOUD_ENDPOINT=${dnsUrl} HCLOUD_TOKEN=${token}`,
    '',
    `  curl -sS -H "Authorization: Bearer $HCLOUD_TOKEN" -H 'Content-Type: application/json' \\`,
    `    $HCLOUD_ENDPOINT/zones/${zoneName}/rrsets -d '${body}'`,
    `  hcloud zone rrset list ${zoneName}`,
    ...(localCloud === null
      ? [`  dig ${name}.${zoneName}`]
      : [`  dig @127.0.0.1 -p ${localCloud.dnsPort} ${name}.${zoneName} +short`]),
    '',
    stateDir === null
      ? 'Ctrl-C ends everything; the state stays in .corral/ until `npm run reset`.'
      : `Ctrl-C ends everything; the state stays in ${stateDir}.`,
    '',
  ].join('\n');
}
