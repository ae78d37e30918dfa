import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { findGoProgram, missingGoProgram } from '@corral/testing/go-programs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { dashboards } from '../../support/dashboards.js';
import {
  type Container,
  containerOf,
  containersOf,
  podOf,
  podTemplateOf,
  problemsOf,
  type Rendered,
  renderChart,
  runHelm,
  valueSets,
} from '../../support/kubernetes/chart.js';
import { builtFile } from '../../support/system/program.js';

const found = findGoProgram('helm');
const helm = found ?? '';
const missingHelm = found === null ? missingGoProgram('helm') : null;

describeNeeding(describe, missingHelm, 'the chart', () => {
  it('passes the linter, and has seven sets of values', () => {
    runHelm(helm, 'lint', '--strict', '--values', 'ci/operations-values.yaml', '.');

    expect(valueSets).toHaveLength(7);
  });

  describe.each(valueSets)('with %s', (values) => {
    let objects: Rendered[];
    beforeAll(() => {
      objects = renderChart(helm, values);
    });

    it('has objects that fit the schemas of their kinds', () => {
      expect(objects.flatMap(problemsOf)).toEqual([]);
    });

    it('has pods that the restricted level admits', () => {
      const pods = objects.map(podOf).filter((pod) => pod !== null);

      expect(pods.length).toBeGreaterThanOrEqual(4);
      for (const { securityContext, containers, initContainers = [], automountServiceAccountToken } of pods) {
        expect(automountServiceAccountToken).toBe(false);
        expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
        for (const container of [...initContainers, ...containers]) {
          expect(container.securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
        }
      }
    });

    it('gives each service only the secrets that it needs', () => {
      const secretsOf = (name: string) =>
        containersOf(objects)
          .filter((container) => container.name === name)
          .flatMap(({ env }) => env.map((variable) => variable.name));

      for (const hidden of ['SECRET_KEYS', 'OIDC_CLIENT_SECRET', 'GARDEN_KUBECONFIG', 'SMTP_URL']) {
        expect(secretsOf('dns-gateway')).not.toContain(hidden);
      }
      expect(secretsOf('cluster-api')).not.toContain('HCLOUD_TOKEN');
      expect(secretsOf('admin')).not.toContain('HCLOUD_TOKEN');
    });
  });

  it.each([
    ['a value that does not exist', ['--set', 'dnsGateway.replica=3'], /replica/],
    ['no zone', ['--set', 'zone.name='], /zone/],
    ['one reconciler with KEDA', ['--set', 'reconciler.keda.minReplicas=1'], /minReplicas/],
    ['a missing secret', ['--set', 'upstream.token.value='], /Set upstream\.token/],
    [
      'two gardens',
      ['--set', 'garden.enabled=true,garden.inCluster=true,garden.clusterApiKubeconfig.existingSecret=k'],
      /garden|exclude/,
    ],
    ['the cluster API without a garden', ['--set', 'clusterApi.enabled=true,secretKeys.value=k'], /garden|passwords/],
  ])('refuses %s', (_what, settings, reason) => {
    expect(() => renderChart(helm, 'ci/dns-values.yaml', ...settings)).toThrow(reason);
  });

  describe('what operators set', () => {
    let objects: Rendered[];
    beforeAll(() => {
      objects = renderChart(helm, 'ci/operations-values.yaml');
    });
    const specOf = (kind: string, name: string) =>
      objects.find((object) => object.kind === kind && object.metadata.name === name)?.spec;

    it('reaches every pod, also those of hooks and of backups', () => {
      const pods = objects.map(podTemplateOf).filter((pod) => pod !== null);

      expect(pods).toHaveLength(7);
      for (const { metadata, spec } of pods) {
        expect(metadata.labels).toMatchObject({ 'example.org/cost-centre': '42' });
        expect(metadata.annotations).toMatchObject({ 'example.org/scanned': 'true' });
        expect(spec).toMatchObject({
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          tolerations: [{ key: 'dedicated', operator: 'Exists' }],
          affinity: { nodeAffinity: expect.anything() },
          priorityClassName: expect.stringMatching(/important$/),
          imagePullSecrets: [{ name: 'registry' }, { name: 'other' }],
          securityContext: { runAsNonRoot: true, runAsUser: 2000 },
        });
      }
    });

    it('replaces or extends the defaults of one service', () => {
      const { metadata, spec } = specOf('Deployment', 'dns-of-acme-dns-gateway').template;
      const [container] = spec.containers;

      expect(metadata.labels).toMatchObject({ 'example.org/tier': 'front' });
      expect(spec.priorityClassName).toBe('most-important');
      expect(spec.topologySpreadConstraints).toMatchObject([{ maxSkew: 2 }]);
      expect(container.envFrom).toEqual([{ secretRef: { name: 'further' } }]);
      expect(container.volumeMounts).toContainEqual({ name: 'extra', mountPath: '/extra' });
      expect(container.readinessProbe).toMatchObject({ httpGet: { path: '/readyz' }, periodSeconds: 15 });
    });

    it('is the address of a Service, which keeps the addresses of clients, and all hosts', () => {
      expect(specOf('Service', 'dns-of-acme-dns-gateway')).toMatchObject({
        externalTrafficPolicy: 'Local',
        loadBalancerIP: '192.0.2.7',
        clusterIP: '10.0.0.7',
        loadBalancerSourceRanges: ['192.0.2.0/24'],
      });
      const hosts = ['dns.example.org', 'dns.example.net'];
      const { rules, tls } = specOf('Ingress', 'dns-of-acme-dns-gateway');
      expect(rules.map(({ host }: { host: string }) => host)).toEqual(hosts);
      expect(tls).toEqual([{ hosts, secretName: 'dns-tls' }]);
      expect(specOf('HTTPRoute', 'dns-of-acme-dns-gateway').hostnames).toEqual(hosts);
    });

    it('includes backups to a bucket, which count after they have arrived, and old ones are removed last', () => {
      const { initContainers, containers } = specOf('CronJob', 'dns-of-acme-backup').jobTemplate.spec.template.spec;
      const args = [...initContainers, ...containers].map((container: Container) => container.args?.slice(0, 3));

      expect(args).toEqual([
        ['backup', '/backups', '--no-count'],
        ['copy', '/backups', ':s3:backups/corral'],
        ['delete', ':s3:backups/corral', '--min-age'],
        ['backup-stored', 'backups/corral'],
      ]);
      for (const { env, volumeMounts } of initContainers.slice(1)) {
        expect(env).toContainEqual({ name: 'SSL_CERT_DIR', value: '/etc/corral/authorities' });
        expect(volumeMounts).toContainEqual({
          name: 'authorities',
          mountPath: '/etc/corral/authorities',
          readOnly: true,
        });
      }
    });
  });

  it('is tested by the doctor first, with the settings of the operator and no secret but the passwords', () => {
    const objects = renderChart(
      helm,
      'ci/dns-values.yaml',
      '--set',
      'redis.enabled=true,redis.host=redis.example.org',
      '--set',
      'redis.password.value=secret,admin.enabled=true',
    );
    const hooks = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'test');
    const byWeight = hooks.map(({ metadata }) => [
      Number(metadata.annotations?.['helm.sh/hook-weight'] ?? 0),
      metadata.name,
    ]);
    const { args, env } = containerOf(objects, 'doctor');

    expect(byWeight.sort()).toEqual([
      [-1, 'corral-doctor'],
      [0, 'corral-test'],
    ]);
    expect(args).toEqual(['doctor']);
    expect(env.map(({ name }) => name)).toEqual(containerOf(objects, 'operator').env.map(({ name }) => name));
    const secret = objects.find(({ kind, metadata }) => kind === 'Secret' && metadata.name === 'corral-doctor');
    expect(Object.keys(secret?.data ?? {}).sort()).toEqual(['DATABASE_PASSWORD', 'REDIS_PASSWORD']);
  });

  it('keeps backups in a volume that outlives the release', () => {
    const objects = renderChart(helm, 'ci/small-values.yaml');
    const claim = objects.find(({ kind }) => kind === 'PersistentVolumeClaim');

    expect(claim?.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    expect(containerOf(objects, 'backup').args).toEqual(['backup', '/backups', '--keep', '7']);
    for (const kind of ['CronJob', 'Deployment']) {
      const pod = objects.find((object) => object.kind === kind && /backup|admin/.test(object.metadata.name));
      expect(JSON.stringify(podOf(pod as Rendered))).toContain('"claimName":"corral-backups"');
    }
    const operators = objects.find(({ metadata }) => metadata.name === 'corral-admin') as Rendered;
    const labelSelector = { matchLabels: operators.spec.selector.matchLabels };
    expect(podOf(objects.find(({ kind }) => kind === 'CronJob') as Rendered)).toMatchObject({
      affinity: {
        podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: { labelSelector } }] },
      },
    });
  });

  it('has no pod that only an upgrade of the chart replaces', () => {
    for (const template of renderChart(helm, 'ci/operations-values.yaml').map(podTemplateOf)) {
      if (template?.metadata.name === undefined)
        expect(JSON.stringify(template?.metadata ?? '')).not.toContain('0.1.0');
    }
  });

  it('renders the same without the cluster, as Argo CD does, and replaces pods by a new revision of existing Secrets', () => {
    const templates = readdirSync(builtFile('infra/helm/corral/templates'), { recursive: true, encoding: 'utf8' });
    const texts = templates
      .filter((name) => /\.(yaml|tpl)$/.test(name))
      .map((name) => readFileSync(builtFile(`infra/helm/corral/templates/${name}`), 'utf8'));
    expect(texts.filter((text) => /\blookup\b/.test(text))).toEqual([]);

    const [before, after] = ['1', '2'].map((revision) =>
      renderChart(helm, 'ci/fixed-host-values.yaml', '--set-string', `secretsRevision=${revision}`)
        .filter(({ kind }) => kind === 'Deployment')
        .map(({ spec }) => spec.template.metadata.annotations['checksum/secrets']),
    );
    expect(before?.filter((checksum) => after?.includes(checksum))).toEqual([]);
  });

  it('replaces the pods of a service when one of its secrets changes, and no others', () => {
    const checksums = (...settings: string[]) =>
      Object.fromEntries(
        renderChart(helm, 'ci/ingress-values.yaml', ...settings)
          .filter(({ kind }) => kind === 'Deployment')
          .map(({ metadata, spec }) => [metadata.name, spec.template.metadata.annotations['checksum/secrets']]),
      );

    const [before, after] = [checksums(), checksums('--set', 'secretKeys.value=other')];

    expect(after['corral-dns-gateway']).toBe(before['corral-dns-gateway']);
    expect(after['corral-cluster-api']).not.toBe(before['corral-cluster-api']);
    expect(after['corral-reconciler']).not.toBe(before['corral-reconciler']);
  });

  it('gives the limits per team to every service that applies or shows them', () => {
    const limitsOf = (...settings: string[]) =>
      Object.fromEntries(
        containersOf(renderChart(helm, 'ci/ingress-values.yaml', ...settings)).map(({ name, env }) => [
          name,
          Object.fromEntries(
            env.flatMap((variable) =>
              /RECORDS_PER_TEAM|LIMIT_PER_TEAM/.test(variable.name) ? [[variable.name, variable.value]] : [],
            ),
          ),
        ]),
      );

    expect(limitsOf()).toMatchObject({
      'dns-gateway': { DNS_RECORDS_PER_TEAM: '500', LIMIT_PER_TEAM: '1200' },
      'cluster-api': { DNS_RECORDS_PER_TEAM: '500', DNS_LIMIT_PER_TEAM: '1200' },
      reconciler: { DNS_RECORDS_PER_TEAM: '500' },
    });
    const unset = limitsOf('--set', 'limits.dnsRecordsPerTeam=null,limits.dnsRequestsPerTeamPerMinute=null');
    expect([unset['dns-gateway'], unset['cluster-api'], unset.reconciler]).toEqual([{}, {}, {}]);
  });

  it('gives a token of the garden that it runs in to the services that need it, and to no other', () => {
    const objects = renderChart(helm, 'ci/ingress-values.yaml');
    const withToken = objects
      .filter((object) => JSON.stringify(podOf(object) ?? '').includes('serviceAccountToken'))
      .map(({ metadata }) => metadata.name);
    const bindings = objects.filter(({ kind }) => kind === 'ClusterRoleBinding');
    const roles = ['cluster-api', 'reconciler'].map(
      (account) =>
        parseAllDocuments(readFileSync(builtFile(`infra/garden/${account}.yaml`), 'utf8'))
          .map((document) => document.toJS())
          .find(({ kind }) => kind === 'ClusterRole').metadata.name,
    );

    expect(withToken.sort()).toEqual(['corral-cluster-api', 'corral-reconciler']);
    expect(bindings.map(({ roleRef }) => roleRef?.name).sort()).toEqual(roles);
    for (const name of ['cluster-api', 'reconciler']) {
      const { env } = containerOf(objects, name);
      expect(env.find((variable) => variable.name === 'GARDEN_IN_CLUSTER')?.value).toBe('true');
      expect(env.map((variable) => variable.name)).not.toContain('GARDEN_KUBECONFIG');
    }
    const elsewhere = renderChart(helm, 'ci/clusters-values.yaml');
    expect(JSON.stringify(elsewhere)).not.toMatch(/serviceAccountToken|ClusterRoleBinding/);
  });

  it('keeps the label `service` of the metrics, which the alerts use', () => {
    const monitors = renderChart(helm, 'ci/clusters-values.yaml').filter(({ kind }) => kind === 'ServiceMonitor');

    expect(monitors).toHaveLength(3);
    const relabelings = [{ targetLabel: 'installation', replacement: 'default/corral' }];
    for (const { spec } of monitors) expect(spec.endpoints).toMatchObject([{ honorLabels: true, relabelings }]);
  });

  it('has the alerts and dashboards of infra/monitoring, unchanged, in the release and in the packed chart', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'corral-packed-chart-'));
    try {
      runHelm(helm, 'package', '.', '--destination', directory);
      const packed = join(directory, readdirSync(directory)[0] ?? '');
      const rendered = runHelm(
        helm,
        'template',
        'corral',
        packed,
        '--kube-version',
        '1.34.0',
        '--values',
        'ci/clusters-values.yaml',
      );
      const objects = parseAllDocuments(rendered).map((document) => document.toJS());
      const rule = objects.find((object) => object?.kind === 'PrometheusRule');
      const boards = objects.find((object) => object?.kind === 'ConfigMap');

      const rules = readFileSync(builtFile('infra/monitoring/rules.yaml'), 'utf8');
      const linked = rules.replaceAll('runbook_url: ', 'runbook_url: https://git.example.org/corral/blob/main/');
      expect(rule.spec).toEqual(parse(linked));
      expect(rule.metadata.labels).toMatchObject({ release: 'prometheus' });
      expect(boards.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
      const loaded = Object.entries<string>(boards.data).map(([name, text]) => [name, JSON.parse(text)]);
      expect(loaded).toEqual(dashboards);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('scales the reconciler on due work, on at least two replicas, with a fallback', () => {
    const scaled = renderChart(helm, 'ci/clusters-values.yaml').find(({ kind }) => kind === 'ScaledObject');

    expect(scaled?.spec).toMatchObject({
      minReplicaCount: 2,
      fallback: { failureThreshold: 3, replicas: 3, behavior: 'currentReplicasIfHigher' },
    });
  });
});
