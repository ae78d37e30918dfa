import { types } from 'node:util';

/** SQLSTATE classes that mean "the database is away or starting or overloaded", not "the statement is wrong". */
const awayStates = /^(08|53|57P0[1-5]|57014|25P03)/;
const awayErrnos = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'ENOENT'],
]);
/** "The database is not currently accepting connections", as during a restore. */
const CLOSED_TO_CONNECTIONS = '55000';
const awayMessages =
  /timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error/i;

/** Prisma's words for it: not reachable, too slow to connect or answer, closed, no free connection, no transaction in time. */
const awayPrismaCodes = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037']);
/** What its adapter calls failures that have no SQLSTATE. */
const awayAdapterKinds = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections']);

/** True when the statement failed because Postgres cannot be reached or used just now: a matter of waiting. */
export function isDatabaseAway(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const { code, severity } = error as Error & { code?: unknown; severity?: unknown };
  if (typeof code === 'string' && (awayErrnos.has(code) || awayPrismaCodes.has(code) || awayStates.test(code)))
    return true;
  if (code === CLOSED_TO_CONNECTIONS && severity === 'FATAL') return true;
  return awayMessages.test(error.message) || isAwayBelowPrisma(error);
}

/** What Prisma's adapter makes of an error of the driver. */
interface AdapterCause {
  readonly kind?: string;
  readonly code?: string;
  readonly originalCode?: string;
  readonly severity?: string;
}

/**
 * Prisma wraps what its adapter said, and for raw queries gives all of it one code. Of a transaction that cannot begin or
 * end, the adapter's error comes as it is.
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
