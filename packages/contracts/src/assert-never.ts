/**
 * The end of a `switch` over a union: a case that is missing does not compile.
 *
 * @throws Error with the value, which is of none of the known kinds
 */
export function assertNever(value: never): never {
  throw new Error(`Unexpected ${JSON.stringify(value)}`);
}
