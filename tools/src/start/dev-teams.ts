import { type DnsTokenStore, dnsTokenStore, type TeamRecord, teamStore } from '@corral/auth';
import { connectPrisma } from '@corral/database';

export interface DevTeam {
  readonly slug: string;
  readonly dnsToken: string;
}

const SLUGS = ['acme', 'globex'];
const TOKEN_NAME = 'npm start';

/** The two teams to try things with. A token of the last run that is still in force stays. */
export async function ensureDevTeams(databaseUrl: string, lastRun: readonly DevTeam[]): Promise<DevTeam[]> {
  const prisma = connectPrisma(databaseUrl);
  try {
    const teams = teamStore(prisma);
    const tokens = dnsTokenStore(prisma);
    const devTeams: DevTeam[] = [];
    for (const slug of SLUGS) {
      const team = (await teams.findTeam(slug)) ?? (await teams.createTeam(slug));
      const kept = lastRun.find((devTeam) => devTeam.slug === slug)?.dnsToken;
      const inForce = kept !== undefined && (await tokens.isInForce(team, kept));
      devTeams.push({ slug, dnsToken: inForce ? kept : await replaceToken(tokens, team) });
    }
    return devTeams;
  } finally {
    await prisma.$disconnect();
  }
}

async function replaceToken(tokens: DnsTokenStore, team: TeamRecord): Promise<string> {
  const ours = (await tokens.listTokens(team)).filter((token) => token.name === TOKEN_NAME && token.revokedAt === null);
  for (const token of ours) await tokens.revokeToken(team, token.id);
  return (await tokens.issueToken(team, { name: TOKEN_NAME })).token;
}
