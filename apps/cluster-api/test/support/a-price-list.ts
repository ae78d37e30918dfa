import type { KnownPrices } from '@corral/cluster-data';

/** Prices in the provider's format. `cap` reaches its monthly price after 500 hours, `nocap` never within a month. */
export const aPriceList = (more: Partial<KnownPrices['prices']> = {}): KnownPrices => ({
  currency: 'EUR',
  pricedAt: new Date('2026-11-20T04:00:00.000Z'),
  prices: {
    serverTypes: {
      cpx31: { hel1: { hourly: '0.0210000000', monthly: '13.1000000000' } },
      cpx51: { hel1: { hourly: '0.0879000000', monthly: '54.9000000000' } },
      cap: { hel1: { hourly: '0.02', monthly: '10' } },
      nocap: { hel1: { hourly: '0.02', monthly: '100' } },
    },
    primaryIpv4: { hel1: { hourly: '0.0008', monthly: '0.5000' }, fsn1: { hourly: '0.0008', monthly: '0.5000' } },
    ...more,
  },
});
