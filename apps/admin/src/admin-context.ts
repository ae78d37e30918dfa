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

/** Wraps the action of a command with a context. Arguments and options are passed on from commander. */
export type WithContext = <A extends unknown[]>(
  action: (context: AdminContext, ...args: A) => Promise<void>,
) => (...args: A) => Promise<void>;

/** The environment of a command: a process or a test. */
export interface AdminIo {
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  /** Migrations applied by `migrate`. */
  readonly migrationsDir: string;
  out(text: string): void;
  err(text: string): void;
  /** How long a reconciler may take to begin a sync, in ms. Default: 30,000. */
  readonly takenWithinMs?: number;
}

/** The dependencies of a command. */
export interface AdminContext {
  readonly io: AdminIo;
  readonly settings: Settings;
  readonly prisma: Prisma;
  readonly teams: TeamStore;
  readonly users: UserStore;
  readonly tokens: DnsTokenStore;
  /** @throws OperatorError when the team does not exist */
  getTeam(slug: string): Promise<TeamRecord>;
  /** @throws OperatorError when no user has the address */
  getUser(email: string): Promise<UserRecord>;
  /** @throws OperatorError when no zone is configured */
  getZoneName(): string;
  /** Prints the result: `value` with --json, otherwise `text`. */
  print(value: unknown, text: string): void;
  /** Prints progress to stderr; silent with --json. */
  progress(text: string): void;
}

/** Runs a command with connections that are opened on first use and closed at its end. */
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
      io,
      settings,
      prisma,
      teams,
      users,
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
      progress: (text) => (json ? undefined : io.err(text)),
    });
  } finally {
    await prisma.$disconnect();
  }
}
