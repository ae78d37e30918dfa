/** The adapter's view of a driver error. */
interface Cause {
  readonly kind?: unknown;
  readonly originalCode?: unknown;
}

/** SQLSTATE `unique_violation` and `lock_not_available`. */
const [UNIQUE_VIOLATION, LOCK_NOT_AVAILABLE] = ['23505', '55P03'];

/** Prisma reports of raw statements (P2010), and of others (P2039), only that they failed; its adapter has the cause. */
function causeOf(error: Error): Cause | undefined {
  const { code, meta } = error as { code?: unknown; meta?: { driverAdapterError?: { cause?: Cause } } };
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
