/** Thrown instead of starting work that may not go on now. Nothing of it was started. */
export class NotAdmitted extends Error {
  override readonly name = 'NotAdmitted';

  /**
   * @param why too many are waiting, or the wait took too long
   * @param whose whether work of the same owner is in the way, or that of others
   */
  constructor(
    readonly why: 'full' | 'late',
    readonly whose: 'own' | 'others',
  ) {
    super(`Not admitted: ${why} with work of ${whose === 'own' ? 'the same owner' : 'others'}`);
  }
}
