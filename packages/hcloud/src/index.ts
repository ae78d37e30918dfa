export { upstreamCallMetrics, upstreamWriteMetrics } from './calls.js';
export {
  type ActionReading,
  type HcloudClient,
  type HcloudLog,
  type HcloudOptions,
  type ReadOptions,
  type RrsetPage,
  type RrsetReading,
  type UpstreamCall,
  UpstreamCredentialsRefused,
  UpstreamUnavailable,
  type UpstreamWrite,
  type WriteOptions,
  type WriteOutcome,
  type ZoneReading,
} from './client.js';
export { connectHcloud } from './connect-hcloud.js';
export { sliceElements, sliceMember, sliceMembers } from './exchange.js';
export {
  connectProjects,
  type ProjectClient,
  type Projects,
  type ProjectsOptions,
} from './project/connect-projects.js';
export type { ProjectFailure, ProjectOutcome } from './project/outcome.js';
export type {
  ActionReading as ServerAction,
  Architecture,
  ImageReading,
  Labels,
  ServerReading,
} from './project/readings.js';
export { type NodePrices, type PricesReading, type ReadPricesOptions, readPrices } from './read-prices.js';
export { type TokenVerdict, type VerifyTokenOptions, verifyToken } from './verify-token.js';
