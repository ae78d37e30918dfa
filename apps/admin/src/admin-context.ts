import {
  type DnsTokenStore,
  dnsTokenStore,
  type TeamRecord,
  type TeamStore,
  teamStore,
  type UserRecord,
  type UserStore,
  userStore,
} from '@corral/auth';
import { connectPrisma, type Prisma } from '@corral/database';
import { OperatorError } from './operator-error.js';
import { readSettings, type Settings } from './settings.js';

/** Where the command runs: in a process, or in a test. */
export interface AdminIo {
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  /** What `migrate` applies. */
  readonly migrationsDir: string;
  out(text: string): void;
  err(text: string): void;
  /** How long a reconciler may take to begin a sync. Default: 30,000. */
  readonly takenWithinMs?: number;
}

/** What a command works with. */
export interface AdminContext {
  readonly io: AdminIo;
  readonly settings: Settings;
  readonly prisma: Prisma;
  readonly teams: TeamStore;
  readonly users: UserStore;
  readonly tokens: DnsTokenStore;
  /** @throws OperatorError when there is no such team */
  getTeam(slug: string): Promise<TeamRecord>;
  /** @throws OperatorError when nobody has the address */
  getUser(email: string): Promise<UserRecord>;
  /** @throws OperatorError when no zone is configured */
  getZoneName(): string;
  /** The outcome: `value` with --json, else the text. */
  print(value: unknown, text: string): void;
  /** What goes on meanwhile; never on stdout, and silent with --json. */
  tell(text: string): void;
}

/** Runs a command with its connections, which are made when first used and closed at its end. */
export async function withContext<T>(
  io: AdminIo,
  { json }: { json: boolean },
  work: (context: AdminContext) => Promise<T>,
): Promise<T> {
  const settings = readSettings(io.env, io.folder);
  const prisma = connectPrisma(settings.databaseUrl);
  const teams = teamStore(prisma);
  const users = userStore(prisma);
  try {
    return await work({
      ...{ io, settings, prisma, teams, users },
      tokens: dnsTokenStore(prisma),
      async getTeam(slug) {
        const team = await teams.findTeam(slug);
        if (team !== null) return team;
        throw new OperatorError(`There is no team "${slug}". \`team list\` shows all teams.`);
      },
      async getUser(email) {
        const user = await users.findUser(email);
        if (user !== null) return user;
        throw new OperatorError(`There is no user "${email}". Create one with \`user create ${email}\`.`);
      },
      getZoneName() {
        if (settings.zoneName !== undefined) return settings.zoneName;
        throw new OperatorError('No zone is configured. Set DNS_ZONE_NAME to the zone of the reconciler.');
      },
      print: (value, text) => io.out(json ? `${JSON.stringify(value, null, 2)}\n` : text),
      tell: (text) => (json ? undefined : io.err(text)),
    });
  } finally {
    await prisma.$disconnect();
  }
}
