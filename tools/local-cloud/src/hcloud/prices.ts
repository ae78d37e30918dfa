import { hcloudProfile } from '../garden/hcloud-profile.js';

const CURRENCY = 'EUR';
const VAT_PERCENT = 19;

/** Net prices in euros in the European locations: hourly, and the monthly cap. */
const serverPrices: Readonly<Record<string, readonly [hourly: number, monthly: number]>> = {
  cx11: [0.0053, 3.29],
  cx22: [0.006, 3.79],
  cx32: [0.0109, 6.8],
  cx42: [0.0263, 16.4],
  cx52: [0.0519, 32.4],
  cpx21: [0.0113, 7.05],
  cpx31: [0.021, 13.1],
  cpx41: [0.0394, 24.6],
  cpx51: [0.0879, 54.9],
  ccx13: [0.02, 12.49],
  ccx23: [0.0392, 24.49],
  ccx33: [0.0777, 48.49],
  cax11: [0.0053, 3.29],
  cax21: [0.0096, 5.99],
  cax31: [0.0192, 11.99],
};
const primaryIpv4Price = [0.0008, 0.5] as const;

/** Price of a server by location, in percent of the prices above. */
const percentAt: Readonly<Record<string, number>> = { fsn1: 100, nbg1: 100, hel1: 100, ash: 120, hil: 120, sin: 150 };

/** Prices of servers and of their public addresses only. */
export function pricingBody() {
  const everywhere = Object.keys(percentAt);
  return {
    currency: CURRENCY,
    vat_rate: `${VAT_PERCENT}.0000000000`,
    primary_ips: [{ type: 'ipv4', prices: everywhere.map((location) => priceAt(location, primaryIpv4Price, 100)) }],
    server_types: hcloudProfile.spec.machineTypes.map(({ name }, index) => ({
      id: index + 1,
      name,
      prices: locationsOf(name).map((location) =>
        priceAt(location, serverPrices[name] ?? [0, 0], percentAt[location] ?? 100),
      ),
    })),
  };
}

/** Locations that offer a machine type, according to the garden's catalogue. */
function locationsOf(machineType: string): string[] {
  return hcloudProfile.spec.regions
    .filter(({ zones = [] }) => zones.some((zone) => !zone.unavailableMachineTypes?.includes(machineType)))
    .map(({ name }) => name);
}

const priceAt = (location: string, [hourly, monthly]: readonly [number, number], percent: number) => ({
  location,
  price_hourly: priceOf((hourly * percent) / 100),
  price_monthly: priceOf((monthly * percent) / 100),
});

/** Decimal strings as the upstream writes them: net, and including value-added tax. */
const priceOf = (euros: number) => ({
  net: euros.toFixed(10),
  gross: ((euros * (100 + VAT_PERCENT)) / 100).toFixed(10),
});
