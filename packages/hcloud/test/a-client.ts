import {
  connectHcloud,
  type HcloudClient,
  type HcloudOptions,
  type UpstreamCall,
  type UpstreamWrite,
} from '../src/index.js';

export const aToken = 'tOkEn0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX';
export const aBaseUrl = 'http://upstream.test/v1';

export interface TestClient {
  client: HcloudClient;
  calls: UpstreamCall[];
  /** every line that was logged */
  logged: string[];
}

/** A client with short waits, so that a test of what happens at their end is quick. */
export function aClient(overrides: Partial<HcloudOptions> = {}): TestClient {
  const calls: UpstreamCall[] = [];
  const logged: string[] = [];
  const write = (message: string, fields?: Record<string, unknown>) => logged.push(JSON.stringify({ message, fields }));
  const client = connectHcloud({
    baseUrl: aBaseUrl,
    token: aToken,
    timeoutMs: 2_000,
    waitMsMax: 1_000,
    log: { error: write, warn: write },
    onCall: (call) => calls.push(call),
    ...overrides,
  });
  return { client, calls, logged };
}

export function aWrite(overrides: Partial<UpstreamWrite> = {}): UpstreamWrite {
  return {
    team: 'acme',
    method: 'POST',
    segments: ['zones', '7001', 'rrsets', 'app', 'A', 'actions', 'set_records'],
    body: Buffer.from('{"records": [ {"value":"192.0.2.1"} ]}'),
    ...overrides,
  };
}

/** The scope of a request that may wait for as long as the client does. */
export const scopeOn = (signal: AbortSignal) => ({ signal, deadline: Number.POSITIVE_INFINITY });

export function anError(code: string, message = 'words of the upstream'): string {
  return `{"error": {"code": "${code}", "message": "${message}", "details": null}}`;
}
