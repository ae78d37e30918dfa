import { isDeepStrictEqual } from 'node:util';
import type { FieldManager } from '@corral/garden';
import { at, fieldsAt, merged, putAt, type Spec } from './model-spec.js';

/** Knows who owns which fields of the Shoot. */
export class FieldOwners {
  /** Fields that other managers set, by path, with the time. */
  private readonly others = new Map<string, { manager: string; time: string }>();
  /** A restore has lost the field managers. */
  isForgotten = false;

  set(path: string, manager: string, time: string): void {
    this.others.set(path, { manager, time });
  }

  clear(): void {
    this.others.clear();
  }

  forget(): void {
    this.others.clear();
    this.isForgotten = true;
  }

  /** An apply takes over these fields. */
  takeOver(paths: readonly string[]): void {
    for (const path of paths) this.others.delete(path);
    this.isForgotten = false;
  }

  holderOf(path: string): string | null {
    return this.others.get(path)?.manager ?? null;
  }

  /** Fields of other managers that a new specification changes. */
  changed(live: Spec, spec: Spec): { field: string; manager: string }[] {
    return [...this.others]
      .filter(([path]) => !isDeepStrictEqual(at(spec, path), at(live, path)))
      .map(([field, { manager }]) => ({ field, manager }));
  }

  /** The result of an apply: omitted fields keep the value of their other manager. */
  merged(live: Spec, applied: Spec): Spec {
    const spec = merged(live, applied);
    for (const path of this.others.keys()) if (at(spec, path) === undefined) putAt(spec, path, at(live, path));
    return spec;
  }

  managers(time: string): FieldManager[] {
    const others = [...this.others].map(([path, { manager, time: since }]) => ({
      manager,
      operation: 'Update',
      time: since,
      fields: fieldsAt(path),
    }));
    const ours = { manager: 'corral', operation: 'Apply', time, fields: {} };
    return this.isForgotten ? others : [ours, ...others];
  }
}
