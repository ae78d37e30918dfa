/** Bounds of a request body, checked before its contents. */
export interface BodyLimits {
  readonly bytes: number;
  /** Nesting depth of objects and arrays. */
  readonly depth: number;
  /** Object members and array elements in total. */
  readonly entries: number;
}

/** Twice the depth of our deepest body. */
export const bodyDepth = 16;
