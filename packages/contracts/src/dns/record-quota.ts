/**
 * How many records a change would have too many; 0 when it fits. What adds nothing always fits, so that who is above a limit can clean
 * up.
 *
 * @param growth how many it adds; negative when it removes some
 * @param held what counts against the limit already
 */
export function recordsOver(growth: number, held: number, limit: number): number {
  return growth <= 0 ? 0 : Math.max(0, held + growth - limit);
}
