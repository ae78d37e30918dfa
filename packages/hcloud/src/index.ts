export { upstreamCallMetrics } from './call-metrics.js';
export type {
  ActionReading,
  BudgetReading,
  HcloudClient,
  HcloudLog,
  HcloudOptions,
  RrsetPage,
  RrsetReading,
  UpstreamCall,
  UpstreamWrite,
  WriteOutcome,
  ZoneReading,
} from './client.js';
export { connectHcloud } from './connect-hcloud.js';
export { UpstreamCredentialsRefused, UpstreamUnavailable } from './errors.js';
export { sliceElements, sliceMember } from './spans.js';
