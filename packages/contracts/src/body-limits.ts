/** What the body of a request may cost before anything in it is looked at. */
export interface BodyLimits {
  readonly bytes: number;
  /** Objects and arrays that are open at once. */
  readonly depth: number;
  /** Members of objects and elements of arrays, counted over the whole body. */
  readonly entries: number;
}

/** Twice as deep as any body of ours is. */
export const bodyDepth = 16;
