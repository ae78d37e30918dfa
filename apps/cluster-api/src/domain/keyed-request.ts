/** A request that may come twice and shall count once. */
export interface KeyedRequest {
  readonly key: string;
  /** SHA-256 of method, path and body. */
  readonly requestHash: Buffer;
}
