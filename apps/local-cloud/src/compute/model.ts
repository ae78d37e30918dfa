import type { ActionError, Labels } from '../dns/model.js';

/** The provider's words. */
export type Architecture = 'x86' | 'arm';

export interface SystemImage {
  readonly id: number;
  readonly name: string;
  readonly architecture: Architecture;
  /** GB. */
  readonly diskGb: number;
}

/** A server as it is held. Never changed in place. */
export interface Server {
  readonly id: number;
  /** The project that it is in. */
  readonly project: string;
  readonly name: string;
  readonly created: string;
  readonly serverType: string;
  readonly architecture: Architecture;
  readonly location: string;
  readonly labels: Labels;
  readonly imageId: number | null;
  readonly protection: { readonly delete: boolean; readonly rebuild: boolean };
  /** Without an action: by a hand of the provider. */
  readonly locked: boolean;
  readonly rescueEnabled: boolean;
  readonly iso: boolean;
  readonly diskGb: number;
  /** What it was in, apart from what an action makes of it. */
  readonly power: 'running' | 'off';
  /** Overrides what would be told, such as `migrating`. */
  readonly status: string | null;
  /** Made without SSH keys: a rebuild answers a new password. */
  readonly hasSshKeys: boolean;
  readonly userData: string | null;
  readonly rebuilds: number;
  readonly powerOffs: number;
  readonly deletedBy: 'api' | 'admin' | null;
  /** Number of the action that it runs from since; null: never rebuilt. */
  readonly rebuild: number | null;
  /** The rebuild whose user data has been heeded. */
  readonly firstBoot: number | null;
  /** Whether what its user data starts works. */
  readonly joins: boolean;
  /** How long it takes to become a node; null: as long as others. */
  readonly joinMs: number | null;
}

/** What a server runs from. */
export interface RunState {
  readonly server: Server;
  /** Null while it does not run, and when it never was rebuilt. */
  readonly rebuild: number | null;
  /** When the last rebuild ended, or the one under way will, in milliseconds since 1970; null without any. */
  readonly rebuiltAt: number | null;
}

/** Something that runs for a while; its end follows from the time. */
export interface ServerAction {
  readonly id: number;
  readonly serverId: number;
  readonly command: string;
  readonly startedAt: number;
  readonly finishesAt: number;
  readonly error: ActionError | null;
  /** Of a rebuild: what the server runs from once it has succeeded. */
  readonly imageId: number | null;
}

/** What a server is made with by hand; what is left out has a default. */
export interface ServerOptions {
  readonly id?: number;
  readonly name?: string;
  readonly serverType?: string;
  readonly architecture?: Architecture;
  readonly location?: string;
  readonly labels?: Labels;
  readonly image?: string | null;
  readonly protection?: { readonly delete: boolean; readonly rebuild: boolean };
  readonly locked?: boolean;
  readonly rescueEnabled?: boolean;
  readonly iso?: boolean;
  readonly diskGb?: number;
  readonly status?: string | null;
  readonly hasSshKeys?: boolean;
  readonly joins?: boolean;
  readonly joinMs?: number | null;
}
