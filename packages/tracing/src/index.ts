export type { TraceSampler, TracingOptions } from './make-tracing.js';
export {
  currentTraceId,
  currentTraceparent,
  inSpan,
  isTracing,
  type OpenSpan,
  openSpan,
  parseTraceparent,
  type SpanAttributes,
  type SpanOptions,
  type Traceparent,
} from './spans.js';
export { startTracing } from './start-tracing.js';
