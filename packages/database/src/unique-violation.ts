/** Whether Prisma found that a row with that key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 'P2002';
}
