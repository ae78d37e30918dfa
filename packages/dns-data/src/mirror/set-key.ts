/** A record set within its zone. */
export interface SetKey {
  readonly name: string;
  readonly type: string;
}

/** Identifies a set within its zone. */
export const idOf = ({ name, type }: SetKey): string => `${name}/${type}`;
