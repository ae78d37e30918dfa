export type { TraceSampler, TracingOptions } from './make-tracing.js';
export {
  currentTraceId,
  currentTraceparent,
  inSpan,
  isTracing,
  type OpenSpan,
  openSpan,
  type SpanAttributes,
  type SpanOptions,
} from './spans.js';
export { startTracing } from './start-tracing.js';
export { parseTraceparent, type Traceparent } from './traceparent.js';
