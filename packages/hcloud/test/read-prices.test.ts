import { describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { readPrices } from '../src/index.js';
import { aBaseUrl, anError, aToken } from './a-client.js';
import { interceptRequests } from './intercept-requests.js';

interceptRequests();

const read = () => readPrices({ baseUrl: aBaseUrl, token: aToken });
function theProvider(status: number, body: string, headers: Record<string, string> = {}): void {
  const scope = nock(aBaseUrl, { reqheaders: { authorization: `Bearer ${aToken}` } });
  scope.get('/pricing').reply(status, body, headers);
}
const money = (net: unknown) => ({ net, gross: '9.99' });
const at = (location: unknown, hourly: unknown, monthly: unknown) => ({
  location,
  included_traffic: 1,
  price_per_tb_traffic: money('1.0000'),
  price_hourly: money(hourly),
  price_monthly: money(monthly),
});

describe('the price list', () => {
  it('contains net prices of nodes, as the provider wrote them', async () => {
    const server_types = [
      { id: 1, name: 'cpx31', prices: [at('hel1', '0.0210000000', '13.1000'), at('fsn1', '0.021', '13.1')] },
      { id: 2, name: 'cx22', prices: [] },
    ];
    const primary_ips = [
      { type: 'ipv6', prices: [at('hel1', '0', '0')] },
      { type: 'ipv4', prices: [at('hel1', '0.0008', '0.5000')] },
    ];
    theProvider(200, JSON.stringify({ pricing: { currency: 'EUR', vat_rate: '19.0', server_types, primary_ips } }));

    expect(await read()).toEqual({
      kind: 'read',
      currency: 'EUR',
      prices: {
        serverTypes: {
          cpx31: {
            hel1: { hourly: '0.0210000000', monthly: '13.1000' },
            fsn1: { hourly: '0.021', monthly: '13.1' },
          },
          cx22: {},
        },
        primaryIpv4: { hel1: { hourly: '0.0008', monthly: '0.5000' } },
      },
    });
  });

  it.each([
    ['a number', 0.02],
    ['an exponent', '2e-2'],
    ['a sign', '-1'],
    ['nothing', ''],
    ['no price', null],
  ])('omits a price that is %s, and keeps the others', async (_what, net) => {
    const prices = [at('hel1', net, '13.1'), at('fsn1', '0.021', '13.1')];
    theProvider(200, JSON.stringify({ pricing: { currency: 'EUR', server_types: [{ name: 'cpx31', prices }] } }));

    const reading = await read();

    expect(reading).toEqual({
      kind: 'read',
      currency: 'EUR',
      prices: { serverTypes: { cpx31: { fsn1: { hourly: '0.021', monthly: '13.1' } } }, primaryIpv4: {} },
    });
  });

  it.each<[string, number, string, Record<string, string>, object]>([
    ['a spent budget', 429, anError('rate_limit_exceeded'), { 'Retry-After': '7' }, { retryAfterMs: 7_000 }],
    ['a spent budget without a time', 429, '', {}, { kind: 'throttled', retryAfterMs: null }],
    ['a refused token', 401, anError('unauthorized'), {}, { kind: 'refused' }],
    ['a fault', 500, anError('service_error'), {}, { kind: 'unavailable', reason: 'status 500' }],
    ['a page', 200, '<html></html>', {}, { kind: 'unavailable', reason: 'an answer of another shape' }],
    ['no currency', 200, '{"pricing": {"currency": "euros"}}', {}, { kind: 'unavailable' }],
  ])('is unavailable after %s', async (_what, status, body, headers, reading) => {
    theProvider(status, body, headers);

    expect(await read()).toMatchObject(reading);
  });

  it('is unavailable without an answer', async () => {
    expect(await read()).toMatchObject({ kind: 'unavailable' });
  });
});
