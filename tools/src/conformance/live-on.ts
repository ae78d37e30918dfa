import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAppliedBy, type Shoot } from '@corral/garden';
import { waitFor } from '@corral/testing';
import { clusterSpec } from '../rig/cluster-spec.js';
import { playGardener } from './play-gardener.js';
import { editPools, poolsOf, shootPath } from './probe.js';
import { must } from './rest.js';
import { type RunningServices, startServices } from './start-services.js';
import { connect, kubeconfigOf, type Target } from './target.js';

interface Living {
  readonly target: Target;
  readonly rig: RunningServices;
  readonly readShoot: () => Promise<Shoot | null>;
}

interface Stage {
  /** Completes the sentence "They …". */
  readonly name: string;
  readonly expected: string;
  run(living: Living): Promise<string>;
}

export interface Lived {
  readonly stage: Stage;
  readonly outcome: string;
}

const NAME = 'life';
const PROFILES = '/apis/core.gardener.cloud/v1beta1/cloudprofiles';
const patient = { timeoutMs: 120_000 };

const declare = ({ rig }: Living, maximum: number): Promise<void> =>
  rig.call('PUT', `/clusters/${NAME}/`, { spec: clusterSpec(maximum) });

/** The newest operation, once it has ended. */
const ended = ({ rig }: Living): Promise<string> =>
  waitFor(
    'the operation to end',
    async () => {
      const { rows } = await rig.pool.query<{ state: string; error: { code?: string; message?: string } }>(
        'SELECT state, error FROM operation WHERE target_name = $1 ORDER BY generation DESC, created_at DESC LIMIT 1',
        [NAME],
      );
      const [operation] = rows;
      if (operation === undefined || ['queued', 'running'].includes(operation.state)) {
        throw new Error(JSON.stringify(operation));
      }
      const { code, message } = operation.error;
      return code === undefined ? operation.state : `${operation.state}: ${code}: ${message}`;
    },
    patient,
  );

interface Reconciled {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

const untilDrifted = ({ rig }: Living): Promise<Reconciled> =>
  waitFor(
    'the drift to be reported',
    async () => {
      const { rows } = await rig.pool.query('SELECT conditions FROM cluster WHERE name = $1', [NAME]);
      const conditions = rows[0].conditions as Reconciled[];
      const drifted = conditions.find(({ type, reason }) => type === 'Reconciled' && reason === 'Drifted');
      if (drifted === undefined) throw new Error(JSON.stringify(conditions));
      return drifted;
    },
    patient,
  );

async function presentShoot({ readShoot }: Living): Promise<Shoot> {
  const shoot = await readShoot();
  if (shoot === null) throw new Error('The Shoot is gone');
  return shoot;
}
const maximumIn = async (living: Living): Promise<number | undefined> =>
  poolsOf(await presentShoot(living))[0]?.maximum;

const stages: readonly Stage[] = [
  {
    name: 'apply a declaration',
    expected: 'succeeded, maximum 3',
    async run(living) {
      await declare(living, 3);
      return `${await ended(living)}, maximum ${await maximumIn(living)}`;
    },
  },
  {
    name: 'report who changed a field, and keep the change',
    expected: 'Drifted: maximum of node pool general is 9 instead of 3 (kubectl-edit), maximum 9',
    async run(living) {
      await editPools(living.target, await presentShoot(living), (pools) =>
        pools.map((each) => ({ ...each, maximum: 9 })),
      );
      const { reason, message } = await untilDrifted(living);
      const named = message.replace('Another manager changed fields that are declared here: ', '').replace(/\.$/, '');
      return `${reason}: ${named}, maximum ${await maximumIn(living)}`;
    },
  },
  {
    name: 'let the next declaration win, with an entry in the audit log',
    expected: 'succeeded, maximum 5, maximum of node pool general of kubectl-edit',
    async run(living) {
      await declare(living, 5);
      const end = await ended(living);
      const { rows } = await living.rig.pool.query(
        "SELECT detail FROM audit_entry WHERE target_name = $1 AND action = 'cluster.override'",
        [NAME],
      );
      const named = rows.flatMap(({ detail }) => detail.fields).map(({ field, manager }) => `${field} of ${manager}`);
      return `${end}, maximum ${await maximumIn(living)}, ${named.join(' ')}`;
    },
  },
  {
    name: 'continue after a restart of the API server',
    expected: 'succeeded, maximum 6',
    async run(living) {
      const restarting = living.target.restart?.();
      await declare(living, 6);
      await restarting;
      const end = await ended(living);
      return `${end}, maximum ${await maximumIn(living)}`;
    },
  },
  {
    name: 'take over again the fields that a restore has forgotten',
    expected: 'held, then succeeded, maximum 7',
    async run(living) {
      const { namespace, name } = (await presentShoot(living)).metadata;
      await living.target.forgetManagers(shootPath(namespace, name));
      const held = await waitFor(
        'it to be applied again',
        async () => {
          if (!isAppliedBy((await living.readShoot())?.managers ?? [])) throw new Error('not held');
          return 'held';
        },
        patient,
      );
      await declare(living, 7);
      return `${held}, then ${await ended(living)}, maximum ${await maximumIn(living)}`;
    },
  },
  {
    name: 'remove a deleted cluster once its finalizers are gone',
    expected: 'succeeded, absent',
    async run(living) {
      await living.rig.call('DELETE', `/clusters/${NAME}/`);
      const end = await ended(living);
      return `${end}, ${(await living.readShoot()) === null ? 'absent' : 'there'}`;
    },
  },
];

/** Runs the built services on the API server, each with its published account, through the life of a cluster. */
export async function liveOn(target: Target): Promise<Lived[]> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-conformance-life-'));
  const kubeconfig = (account: 'reconciler' | 'cluster-api'): string => {
    const path = join(folder, `${account}.kubeconfig`);
    writeFileSync(path, kubeconfigOf(target.accounts[account]), { mode: 0o600 });
    return path;
  };
  const gardener = playGardener(target);
  const kubeconfigs = { clusterApi: kubeconfig('cluster-api'), reconciler: kubeconfig('reconciler') };
  await must(target.admin, 'POST', PROFILES, catalogue);
  const rig = await startServices(kubeconfigs);
  const garden = connect(target.accounts.reconciler);
  try {
    let place: { namespace: string; name: string } | undefined;
    const readShoot = async (): Promise<Shoot | null> => {
      // The row goes with the cluster, and the Shoot is checked after that.
      place ??= await placeOf(rig);
      return garden.readShoot(place);
    };
    const lived: Lived[] = [];
    for (const stage of stages) {
      const outcome = await stage
        .run({ target, rig, readShoot })
        .catch((error: unknown) => `failed: ${(error as Error).message.split('\n')[0]}`);
      lived.push({ stage, outcome });
    }
    return lived;
  } finally {
    await gardener.stop();
    await garden.close();
    await rig.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function placeOf(rig: RunningServices): Promise<{ namespace: string; name: string }> {
  const { rows } = await rig.pool.query(
    'SELECT shoot_name, project_namespace FROM cluster JOIN team ON team.id = team_id WHERE cluster.name = $1',
    [NAME],
  );
  return { namespace: rows[0].project_namespace, name: rows[0].shoot_name };
}

/** What the cluster needs. */
const catalogue = {
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'CloudProfile',
  metadata: { name: 'hcloud' },
  spec: {
    type: 'hcloud',
    kubernetes: { versions: [{ version: '1.34.3', classification: 'supported' }] },
    machineTypes: [{ name: 'cpx31', cpu: '4', memory: '8Gi', gpu: '0', architecture: 'amd64', usable: true }],
    machineImages: [{ name: 'ubuntu', versions: [{ version: '24.4.1', architectures: ['amd64'] }] }],
    regions: [{ name: 'hel1', zones: [{ name: 'hel1-dc2' }] }],
  },
};
