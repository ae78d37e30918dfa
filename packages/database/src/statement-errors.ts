import { types } from 'node:util';

/*
 * What the error of a statement means, whether Prisma or `pg` ran it.
 */

/** The adapter's view of a driver error. */
interface AdapterCause {
  readonly kind?: string;
  readonly code?: string;
  readonly originalCode?: string;
  readonly severity?: string;
}

/** SQLSTATE classes for an unavailable, starting, overloaded or read-only server, as opposed to an invalid statement. */
const awayStates = /^(08|53|57P0[1-5]|57014|25P03|25006)/;
const awayErrnos = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);
/** "The database is not currently accepting connections", as during a restore. */
const CLOSED_TO_CONNECTIONS = '55000';
const awayMessages =
  /timeout expired|timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error/i;

/** Prisma error codes: unreachable, timed out, connection closed, pool exhausted, transaction not started in time. */
const awayPrismaCodes = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037']);
/** The adapter's kinds for failures without SQLSTATE. */
const awayAdapterKinds = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections']);

/** Whether the statement failed because Postgres is currently unavailable, so that a retry can help. */
export function isDatabaseAway(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const { code, severity } = error as Error & { code?: unknown; severity?: unknown };
  if (typeof code === 'string' && (awayErrnos.has(code) || awayPrismaCodes.has(code) || awayStates.test(code)))
    return true;
  if (code === CLOSED_TO_CONNECTIONS && severity === 'FATAL') return true;
  return awayMessages.test(error.message) || isAwayBelowPrisma(error);
}

/**
 * Prisma wraps the adapter's error and gives all failures of raw queries the same code. Errors at the start or end of a
 * transaction come unwrapped.
 */
function isAwayBelowPrisma(error: Error): boolean {
  const { meta } = error as { meta?: { driverAdapterError?: { cause?: AdapterCause } } };
  const cause = error.name === 'DriverAdapterError' ? (error.cause as AdapterCause) : meta?.driverAdapterError?.cause;
  if (cause === undefined) return false;
  return (
    awayAdapterKinds.has(cause.kind ?? '') ||
    awayStates.test(cause.originalCode ?? '') ||
    awayStates.test(cause.code ?? '') ||
    (cause.code === CLOSED_TO_CONNECTIONS && cause.severity === 'FATAL')
  );
}

/** SQLSTATE `unique_violation` and `lock_not_available`. */
const [UNIQUE_VIOLATION, LOCK_NOT_AVAILABLE] = ['23505', '55P03'];

/** Prisma reports of raw statements (P2010), and of others (P2039), only that they failed; its adapter has the cause. */
function causeOf(error: Error): AdapterCause | undefined {
  const { code, meta } = error as { code?: unknown; meta?: { driverAdapterError?: { cause?: AdapterCause } } };
  return code === 'P2010' || code === 'P2039' ? meta?.driverAdapterError?.cause : undefined;
}

/** Whether a statement of Prisma or `pg` failed because a row with the key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return code === 'P2002' || code === UNIQUE_VIOLATION || causeOf(error)?.kind === 'UniqueConstraintViolation';
}

/** Whether a statement of Prisma or `pg` exceeded its pool's `lockTimeoutMs`. */
export function isLockTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return code === LOCK_NOT_AVAILABLE || causeOf(error)?.originalCode === LOCK_NOT_AVAILABLE;
}
