import type { FieldType } from '../fields/schema.js';
import type { ExtensionField } from '../garden-settings.js';
import type { FieldError } from '../kube/field-error.js';
import type { KubeObject } from '../kube/object.js';
import type { ResourceName } from '../kube/status-error.js';

/** Input of admission apart from the object. */
export interface AdmissionContext {
  readonly nowMs: number;
  /** Name of the caller. */
  readonly user: string;
  readonly subresource: string;
  /** Additional fields that this build of the provider extension supports. */
  readonly extensionFields: readonly ExtensionField[];
  /** Returns an object for reading only. */
  find<T extends KubeObject>(plural: string, namespace: string, name: string): Readonly<T> | null;
}

/**
 * A kind of the API: its name, its fields and the rules for writes. The steps run in the order given here. They may
 * change the object but not the old one.
 */
export interface Kind<T extends KubeObject = KubeObject> extends ResourceName {
  readonly version: string;
  readonly namespaced: boolean;
  /** Whether names must be DNS labels, without dots. Default false. */
  readonly nameIsLabel?: boolean;
  readonly schema: FieldType;
  /** Only to be created. */
  readonly subresources?: readonly string[];
  /** Verbs of project members. RBAC refuses all others. Default: all. */
  readonly userVerbs?: readonly string[];
  /** Sets defaults that depend only on the object. */
  setDefaults?(object: T): void;
  /** Mutating admission. @throws StatusError */
  admit?(object: T, old: T | null, context: AdmissionContext): void;
  /** Sets fields that callers cannot set; `old` is null on create. */
  prepare?(object: T, old: T | null, context: AdmissionContext): void;
  /** Errors are answered with 422. */
  validate?(object: T, old: T | null, context: AdmissionContext): FieldError[];
  /** Validating admission. @throws StatusError */
  judge?(object: T, old: T | null, context: AdmissionContext): void;
  /** Validating admission of a deletion. @throws StatusError */
  judgeDeletion?(object: T): void;
}

export const apiVersionOf = ({ group, version }: { group: string; version: string }): string =>
  group === '' ? version : `${group}/${version}`;

export const readVerbs = ['get', 'list', 'watch'] as const;
export const allVerbs = [...readVerbs, 'create', 'patch', 'delete'] as const;
