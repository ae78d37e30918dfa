export { upstreamCallMetrics, upstreamWriteMetrics } from './calls.js';
export {
  type ActionReading,
  type HcloudClient,
  type HcloudOptions,
  type ReadOptions,
  type RrsetPage,
  type UpstreamCall,
  UpstreamUnavailable,
  type UpstreamWrite,
  type WriteOptions,
  type WriteOutcome,
} from './client.js';
export { connectHcloud } from './connect-hcloud.js';
export { sliceMembers } from './exchange.js';
export {
  connectProjects,
  type ProjectClient,
  type ProjectFailure,
  type ProjectOutcome,
  type Projects,
} from './project/connect-projects.js';
export type { ActionReading as ServerAction, Architecture, ImageReading, ServerReading } from './project/readings.js';
export { type NodePrices, type PricesReading, readPrices } from './read-prices.js';
export { type TokenVerdict, verifyToken } from './verify-token.js';
