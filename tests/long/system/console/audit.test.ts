import { readFile } from 'node:fs/promises';
import { beforeAll, expect, it } from '@jest/globals';
import { type DevTeam, describeConsole, expectAccessible } from '../../../support/console/start-console.js';

const DAY_MS = 86_400_000;

describeConsole('for audit log, usage and home', (running) => {
  beforeAll(async () => {
    for (const name of ['third', 'fourth', 'fifth']) await team('POST', 'dns-tokens/', { name });
  });

  const team = (method: string, path: string, body?: unknown) =>
    running().api(method, `/api/v1/teams/acme/${path}`, body);

  it('shows the first steps of an empty team, with a command that works', async () => {
    const empty = running().dev.teams[1] as DevTeam;
    const page = await running().open(`/teams/${empty.slug}`, { sessionid: empty.admin.sessionid });
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.getByText('Nothing needs attention.').waitFor();
    const command = await page.locator('pre').first().textContent();
    const [, address = ''] = /(http\S+)/.exec(command ?? '') ?? [];
    const [, body = ''] = /-d '(.*)'/.exec(command ?? '') ?? [];
    const headers = {
      authorization: `Bearer ${empty.dnsToken}`,
      'content-type': 'application/json',
    };
    expect((await fetch(address, { method: 'POST', headers, body })).status).toBe(201);
    await page.getByText('1 of 200 records').waitFor();
    await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' });
  });

  it('shows what was requested and answered, and what a change replaced', async () => {
    const { dnsUrl, zoneName, teams } = running().dev;
    const acme = teams[0] as DevTeam;
    const post = async (path: string, body: object): Promise<void> => {
      const { ok } = await fetch(`${dnsUrl}/zones/${zoneName}/rrsets${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${acme.dnsToken}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(ok).toBe(true);
    };
    await post('', { name: 'changed.acme', type: 'A', records: [{ value: '192.0.2.1' }] });
    await post('/changed.acme/A/actions/set_records', { records: [{ value: '192.0.2.99' }] });
    for (const name of ['First name', 'Second name']) {
      await team('PUT', `connections/${acme.connectionRef}/`, { spec: { name, provider: 'hcloud' } });
    }
    const page = await running().open('/teams/acme/audit?kind=dns');
    await page.getByRole('button', { name: 'Details: Set the records of changed.acme' }).press('Enter');
    await page.getByRole('heading', { name: 'Requested' }).waitFor();
    expect(await page.locator('del, ins').allTextContents()).toEqual(['192.0.2.1', '192.0.2.99']);
    await page.goto(page.url().replace('kind=dns', 'action=connection.replace'));
    await page
      .getByRole('button', { name: /^Details: Changed connection/ })
      .first()
      .press('Enter');
    expect(await page.locator('del, ins').allTextContents()).toEqual(['First name', 'Second name']);
  });

  it('follows: new entries appear by themselves', async () => {
    const page = await running().open('/teams/acme/audit');
    await page
      .getByRole('row', { name: /Created connection/ })
      .first()
      .waitFor();
    await page.getByLabel('Live', { exact: true }).press('Space');
    await team('PUT', 'service-accounts/followed/', { spec: { role: 'viewer' } });
    await page.getByRole('row', { name: /service account.* followed/ }).waitFor();
  });

  it('plots usage with its gaps, in both themes and on a phone', async () => {
    const page = await running().open('/me', { width: 390 });
    const lengths: Readonly<Record<string, number>> = { hour: 24, day: 30 };
    await page.context().route('**/usage/?*', (route) => {
      const step = new URL(route.request().url()).searchParams.get('step') ?? '';
      return route.fulfill({ json: usageOf(step, lengths[step] ?? 0) });
    });
    await page.context().route('**/dns-usage/', async (route) => {
      const answer = await route.fetch();
      const usage = await answer.json();
      await route.fulfill({ json: { ...usage, requests: { ...usage.requests, limitPerMinute: 1 } } });
    });
    await page.goto(`${running().dev.consoleUrl.replace(/\/$/, '')}/teams/acme/usage?range=24h`);
    const requests = page.getByRole('figure').filter({ hasText: 'Requests to the DNS API' });
    await requests.getByText('207 requests, at most 69 per hour; limit 60 per hour').waitFor();
    const bars = requests.locator('.recharts-bar-rectangle path');
    await bars.nth(2).waitFor();
    expect(await bars.count()).toBe(3);
    // 69 requests in an hour are beyond what 1 per minute grants over an hour, so its line is in the picture.
    const limit = requests.locator('.recharts-reference-line line');
    expect(Number(await limit.getAttribute('y1'))).toBeGreaterThan(0);
    const records = page.getByRole('figure').filter({ hasText: 'Quota' });
    // A value between two gaps is a point, for the records and for the quota.
    await records.locator('circle').nth(1).waitFor();
    expect(await records.locator('circle').count()).toBe(2);
    await expectAccessible(page);

    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByText('30 d', { exact: true }).click();
    await page.waitForURL(/range=30d/);
    await requests.getByText('261 requests, at most 87 per day; limit 1,440 per day').waitFor();
    await page.getByText('All values as a table').click();
    await page.getByRole('row').nth(3).waitFor();
    expect(await page.getByRole('row').count()).toBe(4);
    await expectAccessible(page);
    const isWider = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(isWider).toBe(false);
  });

  it('filters by address, keeps the filters over a reload, and exports what is shown', async () => {
    const page = await running().open('/teams/acme/audit?kind=dns_token');
    await page.getByRole('row', { name: /fourth/ }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('fifth');
    await page.getByRole('row', { name: /fourth/ }).waitFor({ state: 'detached' });
    await page.waitForURL(/kind=dns_token&name=fifth/);
    await page.reload();
    await page.getByRole('row', { name: /fifth/ }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await expectAccessible(page);

    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Export what is shown' }).click();
    const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).target.name)).toEqual(['fifth']);

    await page.getByRole('button', { name: 'Details: Created DNS token fifth' }).click();
    const requestId = (await page.getByText(/^Request /).textContent())?.split(' ')[1] ?? '';
    await page.goto(page.url().replace(/\?.*/, ''));
    await page.getByRole('row', { name: /fourth/ }).waitFor();
    await page.getByLabel('Request', { exact: true }).fill(requestId);
    await page.getByRole('row', { name: /fourth/ }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /fifth/ }).waitFor();

    await page.getByLabel('Target', { exact: true }).fill('nothing');
    await page.getByText('No entry matches the filters.').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('row', { name: /Created DNS token.*fourth/ }).waitFor();
  });
});

/** Points of which the first, and the last two after a gap, have values. The last one is not complete. */
function usageOf(step: string, length: number) {
  const stepMs = step === 'hour' ? DAY_MS / 24 : DAY_MS;
  const start = Date.parse('2026-10-24T00:00:00.000Z');
  const points = Array.from({ length }, (_, index) => {
    const isKnown = index === 0 || index >= length - 2;
    const value = (known: number) => (isKnown ? known : null);
    return {
      from: new Date(start + index * stepMs).toISOString(),
      complete: index < length - 1,
      recordedHours: isKnown ? 1 : 0,
      requests: value(3 * (length - 1)),
      writes: value(2),
      refusedWrites: value(1),
      records: { used: value(10), limit: value(200) },
      dnsTokens: value(1),
      clusters: value(1),
      nodes: value(2),
      cost: isKnown
        ? { currency: 'EUR', minimum: '13.6', maximum: '40.8' }
        : { currency: null, minimum: null, maximum: null },
    };
  });
  return { step, from: new Date(start).toISOString(), to: new Date(start + length * stepMs).toISOString(), points };
}
