import { hcloudProfile, serverTypes } from '../garden/hcloud-profile.js';

const CURRENCY = 'EUR';
const VAT_PERCENT = 19;

const primaryIpv4Price = { hourly: 0.0008, monthly: 0.5 };

/** Price of a server by location, in percent of the prices above. */
const percentAt: Readonly<Record<string, number>> = { fsn1: 100, nbg1: 100, hel1: 100, ash: 120, hil: 120, sin: 150 };

/** Prices of servers and of their public addresses only. */
export function pricingBody() {
  const everywhere = Object.keys(percentAt);
  return {
    currency: CURRENCY,
    vat_rate: `${VAT_PERCENT}.0000000000`,
    primary_ips: [{ type: 'ipv4', prices: everywhere.map((location) => priceAt(location, primaryIpv4Price, 100)) }],
    server_types: Object.entries(serverTypes).map(([name, price], index) => ({
      id: index + 1,
      name,
      prices: locationsOf(name).map((location) => priceAt(location, price, percentAt[location] ?? 100)),
    })),
  };
}

/** Locations that offer a machine type, according to the garden's catalogue. */
function locationsOf(machineType: string): string[] {
  return hcloudProfile.spec.regions
    .filter(({ zones = [] }) => zones.some((zone) => !zone.unavailableMachineTypes?.includes(machineType)))
    .map(({ name }) => name);
}

const priceAt = (location: string, { hourly, monthly }: typeof primaryIpv4Price, percent: number) => ({
  location,
  price_hourly: priceOf((hourly * percent) / 100),
  price_monthly: priceOf((monthly * percent) / 100),
});

/** Decimal strings as the upstream writes them: net, and including value-added tax. */
const priceOf = (euros: number) => ({
  net: euros.toFixed(10),
  gross: ((euros * (100 + VAT_PERCENT)) / 100).toFixed(10),
});
