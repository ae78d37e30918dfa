import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hcloudProfile } from '../src/garden/kinds/hcloud-profile.js';
import { startTestCloud, type TestCloud } from './start-test-cloud.js';

const as = (token: string) => ({ Authorization: `Bearer ${token}` });

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud({ projectTokens: ['writer', 'other'], readOnlyTokens: ['reader'] });
});
afterAll(() => cloud.close());

describe('prices', () => {
  it('are decimal strings for every machine type in every location', async () => {
    const { body } = await cloud.call('GET', '/pricing', undefined, as('reader'));

    const { currency, server_types: types, primary_ips: ips } = body.pricing;
    expect(currency).toBe('EUR');
    expect(types.map(({ name }: { name: string }) => name)).toEqual(
      hcloudProfile.spec.machineTypes.map(({ name }) => name),
    );
    const priceOf = (name: string, at: string) =>
      types
        .find((type: { name: string }) => type.name === name)
        .prices.find(({ location }: { location: string }) => location === at);
    expect(priceOf('cpx31', 'hel1')).toEqual({
      location: 'hel1',
      price_hourly: { net: '0.0210000000', gross: '0.0249900000' },
      price_monthly: { net: '13.1000000000', gross: '15.5890000000' },
    });
    expect(priceOf('cpx31', 'sin').price_hourly.net).toBe('0.0315000000');
    expect(priceOf('cx22', 'ash')).toBeUndefined();
    expect(ips[0].prices[0].price_monthly.net).toBe('0.5000000000');
    const texts = JSON.stringify(body).matchAll(/"(?:net|gross)":("[^"]*"|[^,}]*)/g);
    for (const [, text] of texts) expect(text).toMatch(/^"\d+\.\d{10}"$/);
  });
});

describe('placement groups', () => {
  const group = { name: 'spread-1', type: 'spread', labels: { 'corral.dev/probe': 'token' } };
  const list = async (token: string, query = '') =>
    (await cloud.call('GET', `/placement_groups${query}`, undefined, as(token))).body.placement_groups;

  it('are created, found by label, and deleted, per project', async () => {
    const { status, body } = await cloud.call('POST', '/placement_groups', group, as('writer'));
    expect(status).toBe(201);
    expect(body).toEqual({
      placement_group: { ...group, id: expect.any(Number), created: expect.any(String), servers: [] },
      action: null,
    });
    expect((await cloud.call('POST', '/placement_groups', group, as('writer'))).body.error.code).toBe(
      'uniqueness_error',
    );
    expect(await list('writer', '?label_selector=corral.dev/probe')).toEqual([body.placement_group]);
    expect(await list('writer', '?label_selector=corral.dev/other')).toEqual([]);
    expect(await list('other')).toEqual([]);

    const path = `/placement_groups/${body.placement_group.id}`;
    expect((await cloud.call('DELETE', path, undefined, as('other'))).status).toBe(404);
    expect((await cloud.call('DELETE', path, undefined, as('writer'))).status).toBe(204);
    expect(await list('writer')).toEqual([]);
  });

  it.each<[string, unknown, number, string]>([
    ['no object', '[]', 400, 'json_error'],
    ['no name', { type: 'spread' }, 422, 'invalid_input'],
    ['another type', { name: 'a', type: 'pack' }, 422, 'invalid_input'],
    ['a label that is none', { ...group, labels: { 'hetzner.cloud/x': 'y' } }, 422, 'invalid_input'],
  ])('are refused with %s', async (_what, body, status, code) => {
    const answer = await cloud.call('POST', '/placement_groups', body, as('writer'));

    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });

  it('cannot be changed with a read-only token', async () => {
    const { status, body } = await cloud.call('POST', '/placement_groups', group, as('reader'));

    expect([status, body.error.code]).toEqual([401, 'token_readonly']);
    expect(await list('reader')).toEqual([]);
  });
});
