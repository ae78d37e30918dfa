import type { Page } from 'playwright-core';
import type { RunningConsole } from './start-console.js';

/** The row of a set in the grid. */
export const rowOf = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(`Select ${name} `) });

/** Record sets of the first team beside the console, as a client of the DNS API makes and reads them. */
export function recordSetsBeside(running: () => RunningConsole) {
  /** @param path below that of the record sets */
  async function dns(method: string, path: string, body?: unknown): Promise<{ status: number; json: never }> {
    const { dnsUrl, zoneName, teams } = running().dev;
    const response = await fetch(`${dnsUrl}/zones/${zoneName}/rrsets${path}`, {
      method,
      headers: { Authorization: `Bearer ${teams[0]?.dnsToken}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as never };
  }
  return {
    dns,
    addApi: () => dns('POST', '', { name: 'api.acme', type: 'A', records: [{ value: '192.0.2.1' }] }),
    setAt: async (path: string) => (await dns('GET', path)).json as { rrset: Record<string, unknown> },
    async removeAll(): Promise<void> {
      const { json } = await dns('GET', '');
      for (const { name, type } of (json as { rrsets: { name: string; type: string }[] }).rrsets) {
        await dns('DELETE', `/${name}/${type}`);
      }
    },
  };
}
