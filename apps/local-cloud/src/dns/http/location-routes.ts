import { Router } from 'express';
import { notFound } from '../api-error.js';
import { linkHeader, pageOf, parsePage, queryValue } from './query.js';

const PER_PAGE_MAX = 50;

/** The locations of the upstream, in its order and shape. */
const locations = [
  [1, 'fsn1', 'Falkenstein DC Park 1', 'DE', 'Falkenstein', 50.47612, 12.370071, 'eu-central'],
  [2, 'nbg1', 'Nuremberg DC Park 1', 'DE', 'Nuremberg', 49.452102, 11.076665, 'eu-central'],
  [3, 'hel1', 'Helsinki DC Park 1', 'FI', 'Helsinki', 60.169855, 24.938379, 'eu-central'],
  [4, 'ash', 'Ashburn, VA', 'US', 'Ashburn, VA', 39.045821, -77.487073, 'us-east'],
  [5, 'hil', 'Hillsboro, OR', 'US', 'Hillsboro, OR', 45.54222, -122.951924, 'us-west'],
  [6, 'sin', 'Singapore', 'SG', 'Singapore', 1.283333, 103.833333, 'ap-southeast'],
].map(([id, name, description, country, city, latitude, longitude, network_zone]) => ({
  id,
  name,
  description,
  country,
  city,
  latitude,
  longitude,
  network_zone,
}));

/** Mounted at `/v1/locations`: the cheapest way to find out whether a token is good. */
export function locationRoutes(): Router {
  const router = Router();
  router.get('/', (req, res) => {
    const name = queryValue(req, 'name');
    const found = locations.filter((location) => name === undefined || location.name === name);
    const page = pageOf(found, parsePage(req, PER_PAGE_MAX));
    res.set('Link', linkHeader(req.originalUrl, page));
    res.json({ locations: page.items, meta: { pagination: page.pagination } });
  });
  router.get('/:id', (req, res) => {
    const location = locations.find(({ id }) => String(id) === req.params.id);
    if (location === undefined) throw notFound('location');
    res.json({ location });
  });
  return router;
}
