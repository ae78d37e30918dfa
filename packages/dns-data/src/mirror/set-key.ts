/** A record set within its zone. */
export interface SetKey {
  readonly name: string;
  readonly type: string;
}

/** Identifies a set within its zone. */
export const idOf = ({ name, type }: SetKey): string => `${name}/${type}`;

/** Conditions of Prisma: one of these sets. None of them if there are none. */
export const keysOf = (sets: readonly SetKey[]): SetKey[] => sets.map(({ name, type }) => ({ name, type }));
