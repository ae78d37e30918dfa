import type { Writable } from 'node:stream';
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
import { connectPrisma, connectReadingPrisma, type Prisma, type Transaction } from '@corral/database';
import { OperatorError } from './operator-error.js';
import { type Act, type ActOfInstallation, recordAct } from './operators/acts.js';
import { operatorName } from './operators/operator-name.js';
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
  /** `backup -` writes to it. */
  readonly stdout: Writable;
  /** Asks the person at the terminal. Absent when there is none. */
  confirm?(question: string): Promise<boolean>;
  /** How long a reconciler may take to begin a sync, in ms. Default: 30,000. */
  readonly takenWithinMs?: number;
}

/** The dependencies of a command. */
export interface AdminContext {
  readonly io: AdminIo;
  readonly settings: Settings;
  /** The name of the person who acts, for the audit log. */
  readonly operator: string;
  /** A connection for reading. Postgres refuses changes by it and by the three stores. */
  readonly prisma: Prisma;
  readonly teams: TeamStore;
  readonly users: UserStore;
  readonly tokens: DnsTokenStore;
  /**
   * Runs `work` in one transaction together with the entries of the operator's act: none is there without the other.
   *
   * @param actOf the act, or `writtenByWork` when `work` writes the entries itself, with the operator's name
   */
  change<T>(actOf: ((result: T) => Act) | typeof writtenByWork, work: (tx: Transaction) => Promise<T>): Promise<T>;
  /**
   * Runs work that cannot be one transaction. Its act is noted before, so that nothing is done without an entry.
   */
  perform<T>(act: ActOfInstallation, work: (prisma: Prisma) => Promise<T>): Promise<T>;
  /** @throws OperatorError when the team does not exist */
  getTeam(slug: string): Promise<TeamRecord>;
  /** @throws OperatorError when no user has the address */
  getUser(email: string): Promise<UserRecord>;
  /** @throws OperatorError when no zone is configured */
  getZoneName(): string;
  /**
   * Asks before something that ends access, and names the installation.
   *
   * @throws OperatorError when the person says no
   */
  confirm(what: string): Promise<void>;
  /** Prints the result: `value` with --json, otherwise `text`. */
  print(value: unknown, text: string): void;
  /** Prints progress to stderr; silent with --json. */
  progress(text: string): void;
}

/** Says that the work of a change writes its own entries. */
export const writtenByWork = Symbol('written by the work');

/** A hold changes all rows, and its end reads the log of all writes. */
const bounds = { maxWait: 10_000, timeout: 600_000 };

/** Runs a command with connections that are opened on first use and closed at its end. */
export async function withContext<T>(
  io: AdminIo,
  { json, as }: { json: boolean; as?: string | undefined },
  work: (context: AdminContext) => Promise<T>,
): Promise<T> {
  const settings = readSettings(io.env, io.folder);
  const operator = operatorName(as, io.env);
  const prisma = connectReadingPrisma(settings.databaseUrl);
  const changing = connectPrisma(settings.databaseUrl, bounds);
  const record = (db: Transaction, act: Act): Promise<void> => recordAct(db, operator, act);
  const teams = teamStore(prisma);
  const users = userStore(prisma);
  try {
    return await work({
      io,
      settings,
      operator,
      prisma,
      teams,
      users,
      tokens: dnsTokenStore(prisma),
      change: (actOf, work) =>
        changing.$transaction(async (tx) => {
          const result = await work(tx);
          if (actOf !== writtenByWork) await record(tx, actOf(result));
          return result;
        }),
      async perform(act, work) {
        await record(changing, act);
        return work(changing);
      },
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
      async confirm(what) {
        const { host, pathname } = new URL(settings.databaseUrl);
        if (json || (await io.confirm?.(`${what} The installation is ${host}${pathname}. Go on?`)) !== false) return;
        throw new OperatorError('Nothing was changed.');
      },
      print: (value, text) => io.out(json ? `${JSON.stringify(value, null, 2)}\n` : text),
      progress: (text) => (json ? undefined : io.err(text)),
    });
  } finally {
    await Promise.all([prisma.$disconnect(), changing.$disconnect()]);
  }
}
