import type { TracingOptions } from './make-tracing.js';
import { useTracing } from './spans.js';

/** The receiver gets the last spans within this time, or never. */
const FLUSH_MS_MAX = 3_000;

/**
 * Begins to make traces, if there is a receiver for them. The exporter reads the standard variables `OTEL_EXPORTER_OTLP_HEADERS`,
 * `OTEL_EXPORTER_OTLP_CERTIFICATE` and the like by itself.
 *
 * @returns how to end: sends what waits, within 3 s
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export async function startTracing(options: TracingOptions): Promise<{ close(): Promise<void> }> {
  const { endpoint, onError } = options;
  if (endpoint === undefined) return { close: async () => undefined };
  const { makeTracing } = await import('./make-tracing.js');
  const { provider, ...tracing } = makeTracing({ ...options, endpoint });
  useTracing(tracing);
  return {
    async close() {
      useTracing(null);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(() => {
          onError(`the receiver did not take the last spans within ${FLUSH_MS_MAX} ms`);
          resolve();
        }, FLUSH_MS_MAX);
      });
      await Promise.race([provider.shutdown().catch((error: Error) => onError(error.message)), late]);
      clearTimeout(timer);
    },
  };
}
