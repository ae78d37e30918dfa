/** Where node pools stand in the body of a request, as JSON pointers (RFC 6901). */
export interface Places {
  readonly pools: string;
  pool(index: number): string;
}

/** In the body of a cluster, all pools are in a list. */
export const inCluster: Places = { pools: '/spec/nodePools', pool: (index) => `/spec/nodePools/${index}` };

/** The body of a pool is about that one alone: whatever changes is in it. */
export const inPool: Places = { pools: '/spec', pool: () => '/spec' };
