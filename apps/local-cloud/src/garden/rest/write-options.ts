/** How a write was asked for. */
export interface WriteOptions {
  /** Name of the caller. */
  readonly user: string;
  readonly fieldManager: string;
  /** Empty for the object itself. */
  readonly subresource: '' | 'status' | 'binding';
  readonly dryRun: boolean;
}

export interface DeleteOptions extends Pick<WriteOptions, 'user' | 'dryRun'> {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export type Patch =
  | { readonly type: 'merge' | 'strategic'; readonly body: unknown }
  | { readonly type: 'json'; readonly operations: readonly unknown[] }
  | { readonly type: 'apply'; readonly body: unknown; readonly force: boolean };
