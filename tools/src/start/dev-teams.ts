import { type DnsTokenStore, dnsTokenStore, type TeamRecord, teamStore, userStore } from '@corral/auth';
import { dnsLimits } from '@corral/contracts';
import { connectPrisma } from '@corral/database';
import { courseStore } from '@corral/dns-data';
import { DEV_COURSE_CODE, DEV_SLUGS, type DevTeam } from './dev-file.js';

/** What a team has before the first sign-in. */
export type DevTeamRows = Pick<DevTeam, 'slug' | 'dnsToken'> & {
  readonly adminEmail: string;
  readonly memberEmail: string;
};

const TOKEN_NAME = 'npm start';

/**
 * Creates the two teams for trying things out, each with two people, and a course code. A token of the last run that is
 * still valid stays.
 */
export async function ensureDevTeams({
  databaseUrl,
  lastRun,
}: {
  databaseUrl: string;
  lastRun: readonly Pick<DevTeam, 'slug' | 'dnsToken'>[];
}): Promise<DevTeamRows[]> {
  const prisma = connectPrisma(databaseUrl);
  try {
    const teams = teamStore(prisma);
    const tokens = dnsTokenStore(prisma);
    const users = userStore(prisma);
    const devTeams: DevTeamRows[] = [];
    for (const slug of DEV_SLUGS) {
      const team = (await teams.findTeam(slug)) ?? (await teams.createTeam(slug));
      const kept = lastRun.find((devTeam) => devTeam.slug === slug)?.dnsToken;
      const inForce = kept !== undefined && (await tokens.isInForce(team, kept));
      const dnsToken = inForce ? kept : await replaceToken(tokens, team);
      const [adminEmail, memberEmail] = [`admin@${slug}.test`, `member@${slug}.test`];
      for (const [email, role] of [[adminEmail, 'admin'] as const, [memberEmail, 'member'] as const]) {
        const user = (await users.findUser(email)) ?? (await users.createUser({ email }));
        await users.saveMember(team, user, role);
      }
      devTeams.push({ slug, dnsToken, adminEmail, memberEmail });
    }
    await courseStore(prisma).createCourse(DEV_COURSE_CODE, dnsLimits.demosPerCourse);
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
