/** A double that has only those members which the tested code uses. */
export const only = <T>(members: Partial<T>): T => members as T;
