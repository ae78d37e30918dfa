import { TeamRuleError } from '@corral/auth';
import { isDatabaseAway } from '@corral/database';
import { QueueUnavailable } from '@corral/queue';
import { adviceOnDistrust, redactText } from '@corral/service';

/** The operator's request cannot be carried out. The message says what to do. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

const DATABASE_AWAY = 'The database does not answer. Check that Postgres runs and that DATABASE_URL is correct.';
const TAKES_NO_WRITES = 'Postgres takes no writes. DATABASE_URL has to lead to the primary.';
/** SQLSTATE `read_only_sql_transaction`. */
const READ_ONLY = '25006';
const NO_TABLES = 'The database is not up to date. Run the command `migrate` first.';
/** Prisma error codes: server unreachable, access denied, no such database, or no connection in time. */
const awayCodes = new Set(['P1000', 'P1001', 'P1002', 'P1003', 'P1008', 'P1010', 'P1017', 'P2024']);
/** Prisma and Postgres error codes: no such table or column. */
const tableCodes = new Set(['P2021', 'P2022', '42P01', '42703']);

/** Describes an error in one sentence for the operator, without stack or secrets. */
export function sentenceOf(error: unknown): string {
  if (error instanceof OperatorError || error instanceof TeamRuleError || error instanceof QueueUnavailable) {
    return error.message;
  }
  const chain = causesOf(error);
  if (chain.some((link) => codeOf(link) === READ_ONLY)) return TAKES_NO_WRITES;
  if (chain.some((link) => isDatabaseAway(link) || awayCodes.has(codeOf(link)))) return DATABASE_AWAY;
  if (chain.some((link) => tableCodes.has(codeOf(link)))) return NO_TABLES;
  const message = error instanceof Error ? error.message : String(error);
  const advice = adviceOnDistrust(message);
  if (advice !== null) return advice;
  return redactText(`The command failed unexpectedly: ${message.trim().split('\n').at(-1) ?? ''}`);
}

function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let link = error; link instanceof Error && chain.length < 5; link = link.cause) chain.push(link);
  return chain;
}

function codeOf(error: unknown): string {
  const { code, errorCode } = error as { code?: unknown; errorCode?: unknown };
  return String(code ?? errorCode ?? '');
}
