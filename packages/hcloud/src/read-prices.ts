import { isObject, type JsonObject } from '@corral/contracts';
import { type Exchange, openWire, readJsonObject } from './exchange.js';

export interface ReadPricesOptions {
  readonly baseUrl: string;
  readonly token: string;
  /** Default: 10,000. */
  readonly timeoutMs?: number;
}

/** Net, as the provider wrote them: decimal texts. `monthly` is what a month costs at the most. */
interface NetPrice {
  readonly hourly: string;
  readonly monthly: string;
}
type ByLocation = Readonly<Record<string, NetPrice>>;

/** The prices of what nodes are made of. */
export interface NodePrices {
  /** Prices by machine type and location. */
  readonly serverTypes: Readonly<Record<string, ByLocation>>;
  /** Prices by location. */
  readonly primaryIpv4: ByLocation;
}

export type PricesReading =
  | { readonly kind: 'read'; readonly currency: string; readonly prices: NodePrices }
  /** The project's request budget is spent. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | null }
  | { readonly kind: 'refused' }
  /** `reason` for the log; holds no token. */
  | { readonly kind: 'unavailable'; readonly reason: string };

/** Reads the price list as the project of a token sees it. One call, no repetition. */
export async function readPrices({ baseUrl, token, timeoutMs = 10_000 }: ReadPricesOptions): Promise<PricesReading> {
  const wire = openWire({ baseUrl, token, timeoutMs });
  try {
    return readingOf(await wire.exchange({ method: 'GET', path: '/pricing', body: null }));
  } finally {
    wire.close();
  }
}

function readingOf(answer: Exchange): PricesReading {
  if (answer.kind === 'broken') return { kind: 'unavailable', reason: answer.reason };
  const { status, headers, body } = answer;
  if (status === 429) {
    const seconds = Number(headers['retry-after'] ?? Number.NaN);
    return { kind: 'throttled', retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : null };
  }
  if (status === 401) return { kind: 'refused' };
  if (status !== 200) return { kind: 'unavailable', reason: `status ${status}` };
  const pricing = readJsonObject(body)?.value.pricing;
  const currency = isObject(pricing) ? pricing.currency : null;
  if (!isObject(pricing) || typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)) {
    return { kind: 'unavailable', reason: 'an answer of another shape' };
  }
  return { kind: 'read', currency, prices: pricesOf(pricing) };
}

/** What is not in the documented shape is left out: it has no price then, and the others keep theirs. */
function pricesOf(pricing: JsonObject): NodePrices {
  const types = objectsIn(pricing.server_types).flatMap(({ name, prices }) =>
    typeof name === 'string' ? [[name, byLocation(prices)] as const] : [],
  );
  const ipv4 = objectsIn(pricing.primary_ips).find(({ type }) => type === 'ipv4');
  return { serverTypes: Object.fromEntries(types), primaryIpv4: byLocation(ipv4?.prices) };
}

function byLocation(prices: unknown): ByLocation {
  return Object.fromEntries(
    objectsIn(prices).flatMap(({ location, price_hourly, price_monthly }) => {
      const [hourly, monthly] = [netOf(price_hourly), netOf(price_monthly)];
      return typeof location === 'string' && hourly !== null && monthly !== null
        ? [[location, { hourly, monthly }] as const]
        : [];
    }),
  );
}

/** Plain decimals of a sensible length: they are calculated with to the last digit. */
function netOf(price: unknown): string | null {
  const net = isObject(price) ? price.net : null;
  return typeof net === 'string' && /^\d{1,12}(\.\d{1,20})?$/.test(net) ? net : null;
}

const objectsIn = (list: unknown): JsonObject[] => (Array.isArray(list) ? list.filter(isObject) : []);
