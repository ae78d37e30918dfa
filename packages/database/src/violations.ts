/** What Prisma's adapter says of an error of the driver. */
interface Cause {
  readonly kind?: unknown;
  readonly originalCode?: unknown;
}

/** Of statements that are not its own Prisma says only that they failed; its adapter says why. */
function causeOf(error: Error): Cause | undefined {
  const { code, meta } = error as { code?: unknown; meta?: { driverAdapterError?: { cause?: Cause } } };
  return code === 'P2010' ? meta?.driverAdapterError?.cause : undefined;
}

/** Whether Prisma found that a row with that key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === 'P2002' || causeOf(error)?.kind === 'UniqueConstraintViolation';
}

/** SQLSTATE `lock_not_available`. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Whether a statement of Prisma waited for a row that others hold for as long as it may: `lockTimeoutMs` of its pool. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && causeOf(error)?.originalCode === LOCK_NOT_AVAILABLE;
}
