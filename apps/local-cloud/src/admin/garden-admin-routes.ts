import { Router } from 'express';
import type { AccountName } from '../garden/rights/accounts.js';
import type { GardenAdmin } from './garden-admin.js';

/** Mounted at `/admin/garden`. */
export function gardenAdminRoutes(garden: GardenAdmin): Router {
  const router = Router();
  router.get('/kubeconfig', ({ query }, res) => {
    const kubeconfig = garden.kubeconfig(query.account as AccountName | undefined);
    res.type('application/yaml').send(kubeconfig);
  });
  router.get('/rights/:account', ({ params }, res) => {
    res.json({ rules: garden.rights(params.account as AccountName) });
  });
  router.put('/rights/:account', ({ params, body }, res) => {
    const account = params.account as AccountName;
    garden.setRights(account, body?.rules ?? []);
    res.json({ rules: garden.rights(account) });
  });
  router.delete('/rights/:account', ({ params }, res) => {
    garden.setRights(params.account as AccountName, null);
    res.status(204).end();
  });
  router.get('/contents', (_req, res) => void res.json(garden.contents()));
  router.get('/shoot-history', (_req, res) => void res.json({ shoots: garden.shootHistory() }));

  router.get('/shoot-faults', (_req, res) => void res.json({ faults: garden.shootFaults() }));
  router.post('/shoot-faults', (req, res) => {
    res.status(201).json({ faults: garden.addShootFaults(...[req.body].flat()) });
  });
  router.delete('/shoot-faults', (_req, res) => {
    garden.clearShootFaults();
    res.status(204).end();
  });

  router.post('/shoots/:namespace/:name/migration', ({ params: { namespace, name }, body }, res) => {
    garden.migrateShoot(namespace, name, body?.seedName);
    res.status(202).end();
  });
  router.patch('/shoots/:namespace/:name', ({ params: { namespace, name }, body }, res) => {
    res.json(garden.editShoot(namespace, name, body ?? {}));
  });
  router.post('/shoots/:namespace/:name/maintenance', ({ params: { namespace, name } }, res) => {
    res.json(garden.maintainShoot(namespace, name));
  });
  router.delete('/shoots/:namespace/:name/managers', ({ params: { namespace, name } }, res) => {
    res.json(garden.forgetManagers(namespace, name));
  });
  router.delete('/shoots/:namespace/:name', ({ params: { namespace, name } }, res) => {
    garden.vanishShoot(namespace, name);
    res.status(204).end();
  });

  const inCluster = '/shoots/:namespace/:name';
  router.get(`${inCluster}/nodes`, ({ params: { namespace, name } }, res) => {
    res.json({ nodes: garden.nodes(namespace, name) });
  });
  router.patch(`${inCluster}/nodes/:node`, ({ params: { namespace, name, node }, body }, res) => {
    const { isSilent } = body ?? {};
    if (typeof isSilent !== 'boolean') throw new Error('The body is {"isSilent": <true or false>}.');
    garden.silenceNode(namespace, name, node, isSilent);
    res.status(204).end();
  });
  router.get(`${inCluster}/pods`, ({ params: { namespace, name } }, res) => {
    res.json({ pods: garden.pods(namespace, name) });
  });
  router.post(`${inCluster}/pods`, ({ params: { namespace, name }, body }, res) => {
    res.status(201).json({ pod: garden.addPod(namespace, name, body ?? {}) });
  });
  router.patch(`${inCluster}/pods/:podNamespace/:pod`, ({ params, body }, res) => {
    const { isProtected } = body ?? {};
    if (typeof isProtected !== 'boolean') throw new Error('The body is {"isProtected": <true or false>}.');
    const pod = { namespace: params.podNamespace, name: params.pod };
    res.json({ pod: garden.protectPod(params.namespace, params.name, pod, isProtected) });
  });

  router.put('/config-maps/:namespace/:name', ({ params: { namespace, name }, body }, res) => {
    res.json(garden.writeConfigMap(namespace, name, body ?? {}));
  });

  router.post('/machines', ({ body }, res) => {
    res.status(201).json({ node: garden.runJoinCommand(body ?? {}) });
  });

  router.patch('/cloud-profile', (req, res) => void res.json(garden.patchCloudProfile(req.body ?? {})));

  router.post('/watches/drop', (req, res) => {
    const { expireHistory, silently } = req.body ?? {};
    garden.dropWatches({ expireHistory: expireHistory === true, silently: silently === true });
    res.status(204).end();
  });
  router.get('/settings', (_req, res) => void res.json(garden.settings()));
  router.patch('/settings', (req, res) => void res.json(garden.changeSettings(req.body ?? {})));
  return router;
}
