import type { HcloudClient, HcloudOptions } from './client.js';

/** Wires a client of the upstream DNS API; makes no call. */
export function connectHcloud(_options: HcloudOptions): HcloudClient {
  throw new Error('Not there yet.');
}
