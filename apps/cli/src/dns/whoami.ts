import type { Cli } from '../cli.js';
import { printable } from '../output/table.js';
import type { DnsTokenFacts } from './dns-zone.js';
import { connectDns } from './dns-zone.js';

export async function whoami(cli: Cli): Promise<void> {
  const facts = (await (await connectDns(cli)).getToken({}, { signal: cli.io.signal })).body.token;
  cli.result(facts, () => factsText(facts));
}

function factsText(facts: DnsTokenFacts): string {
  const { name, kind, team, demo, zone, endpoint, names, types, expires_at, records, requests } = facts;
  const left = ({ remaining, limit }: DnsTokenFacts['requests']['per_token']) => `${remaining} of ${limit} left`;
  const reach = names.map((each) => `${each} and below`).join(', ');
  const rows: [string, string][] = [
    ['Token', `${name} (${kind})`],
    team === null ? ['Demo', demo ?? '-'] : ['Team', team],
    ['Zone', zone.name],
    ['Endpoint', endpoint ?? '-'],
    types.length === 0
      ? ['Reads', names.length === 0 ? 'only itself' : reach]
      : ['Writes', `${reach}; ${types.join(', ')}`],
    ['Expires', expires_at ?? 'when it is revoked'],
    ['Records', records === null ? '-' : `${records.used + records.reserved} of ${records.limit}`],
    ['Requests', `${left(requests.per_token)} per minute for this token, ${left(requests.per_team)} for the team`],
  ];
  return rows.map(([title, text]) => `${title.padEnd(10)}${printable(text)}\n`).join('');
}
