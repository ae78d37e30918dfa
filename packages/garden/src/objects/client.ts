import type { JsonObject } from '@corral/contracts';
import type { Named } from '../calls/paths.js';

/** Names one object of a cluster. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    /** absent for kinds without namespaces */
    readonly namespace?: string;
    readonly name: string;
  };
}

/** The fields to own. An apply removes fields that an earlier one set and leaves the fields of others alone. */
export type ObjectManifest = ObjectRef & JsonObject;

/**
 * Objects of any kind in Shoots, with the same access and the same errors as `ShootNodes`: an error with `fromShoot` says
 * nothing about the garden. A kind that the Shoot does not serve is `unusable`. Of Secrets, errors keep none of the server's text.
 */
export interface ShootObjects {
  /** @returns null when there is no such object */
  read(shoot: Named, object: ObjectRef, signal?: AbortSignal): Promise<JsonObject | null>;
  /**
   * Creates or changes an object by server-side apply.
   *
   * @param options force: takes fields over from other managers. Without it, fields of others are a `conflict` with `causes`
   */
  apply(
    shoot: Named,
    manifest: ObjectManifest,
    options?: { readonly force?: boolean },
    signal?: AbortSignal,
  ): Promise<JsonObject>;
  /** An absent object counts as deleted. What it owns is deleted later, by the cluster. */
  delete(shoot: Named, object: ObjectRef, signal?: AbortSignal): Promise<void>;
}

/** The place where an object of a Shoot can be reached from outside, from its status. */
export interface BalancerReading {
  readonly kind: 'Service' | 'Ingress';
  readonly namespace: string;
  readonly name: string;
  /** IP addresses and host names, as the cluster states them. */
  readonly addresses: readonly string[];
}
