/** What an operator of the garden has put in the way of creations and changes of Shoots. */
export interface AdmissionRule {
  readonly name: string;
  /** A ValidatingAdmissionPolicy, or a webhook that does not answer (`failurePolicy: Fail`). */
  readonly kind: 'policy' | 'dead webhook';
  /** Default: all. */
  readonly namespace?: string;
  /** A regular expression on the JSON of the specification. Default: all. */
  readonly when?: string;
  /** The message for people. */
  readonly message?: string;
}

/** How long each kind of flow of a Shoot takes, in milliseconds. */
export interface GardenSpeed {
  readonly createMs: number;
  readonly reconcileMs: number;
  readonly deleteMs: number;
}

/** Settings that can change at run time. */
export interface GardenSettings extends GardenSpeed {
  /** Time from the end of a server's rebuild until it is a node, in milliseconds. */
  readonly joinMs: number;
  /** Maximum number of Secrets per namespace; null for no quota. */
  readonly secretsMax: number | null;
  readonly admission: readonly AdmissionRule[];
}

export const defaultSettings: GardenSettings = {
  createMs: 8000,
  reconcileMs: 4000,
  deleteMs: 4000,
  joinMs: 1000,
  secretsMax: null,
  admission: [],
};
