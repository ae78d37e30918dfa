import { Router } from 'express';
import { notFound } from '../dns/api-error.js';
import { linkHeader, pageOf, parsePage, queryValue } from '../dns/http/query.js';
import { hcloudProfile } from '../garden/seed/hcloud-profile.js';
import { locationsOf, pricesOf, pricingBody } from './prices.js';

const PER_PAGE_MAX = 50;

/** The machine types of the garden's catalogue, in the upstream's shape. */
const serverTypes = hcloudProfile.spec.machineTypes.map(
  ({ name, architecture, cpu, memory, storage, usable }, index) => ({
    id: index + 1,
    name,
    description: name.toUpperCase(),
    cores: Number(cpu),
    memory: Number.parseInt(memory, 10),
    disk: Number.parseInt(storage?.size ?? '0', 10),
    deprecated: usable === false,
    prices: pricesOf(name),
    storage_type: 'local',
    cpu_type: name.startsWith('ccx') ? 'dedicated' : 'shared',
    architecture: architecture === 'arm64' ? 'arm' : 'x86',
    locations: locationsOf(name).map((location) => ({
      name: location,
      available: usable !== false,
      deprecation: null,
    })),
  }),
);

/** Mounted at `/v1/server_types`. */
export function serverTypeRoutes(): Router {
  const router = Router();
  router.get('/', (req, res) => {
    const name = queryValue(req, 'name');
    const found = serverTypes.filter((type) => name === undefined || type.name === name);
    const page = pageOf(found, parsePage(req, PER_PAGE_MAX));
    res.set('Link', linkHeader(req.originalUrl, page));
    res.json({ server_types: page.items, meta: { pagination: page.pagination } });
  });
  router.get('/:id', (req, res) => {
    const type = serverTypes.find(({ id }) => String(id) === req.params.id);
    if (type === undefined) throw notFound('server_type');
    res.json({ server_type: type });
  });
  return router;
}

/** Mounted at `/v1/pricing`. */
export function pricingRoutes(): Router {
  const router = Router();
  router.get('/', (_req, res) => {
    res.json({ pricing: pricingBody(serverTypes) });
  });
  return router;
}
