import { fileURLToPath } from 'node:url';
import { freePort, type RunningProcess, startProcess } from '@corral/testing';
import { UPSTREAM_TOKEN, ZONE } from './dns/start-reconciling.js';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface ReconcilerProcess extends RunningProcess {
  readonly metricsUrl: string;
}

/**
 * Starts the built reconciler, and waits until it is ready. Its grace period ends long before `stop` would kill it: a
 * process that `stop` reports with code 0 has exited by itself.
 *
 * @param env at least its database and the address of the upstream
 */
export async function startReconcilerProcess(env: Record<string, string | undefined>): Promise<ReconcilerProcess> {
  const port = await freePort();
  const running = await startProcess({
    command: process.execPath,
    args: [main],
    env: {
      METRICS_PORT: String(port),
      DNS_ZONE_NAME: ZONE,
      HCLOUD_TOKEN: UPSTREAM_TOKEN,
      SHUTDOWN_GRACE_MS: '8s',
      ...env,
    },
    readyUrl: `http://127.0.0.1:${port}/readyz`,
    readyTimeoutMs: 90_000,
  });
  return {
    ...running,
    metricsUrl: `http://127.0.0.1:${port}/metrics`,
    stop: () => running.stop({ timeoutMs: 90_000 }),
  };
}
