/** The adapter's view of a driver error. */
interface Cause {
  readonly kind?: unknown;
  readonly originalCode?: unknown;
}

/** For raw statements Prisma reports only that they failed (P2010); its adapter has the cause. */
function causeOf(error: Error): Cause | undefined {
  const { code, meta } = error as { code?: unknown; meta?: { driverAdapterError?: { cause?: Cause } } };
  return code === 'P2010' ? meta?.driverAdapterError?.cause : undefined;
}

/** Whether Prisma failed because a row with the key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === 'P2002' || causeOf(error)?.kind === 'UniqueConstraintViolation';
}

/** SQLSTATE `lock_not_available`. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Whether a Prisma statement exceeded its pool's `lockTimeoutMs`. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && causeOf(error)?.originalCode === LOCK_NOT_AVAILABLE;
}
