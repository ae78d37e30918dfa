import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { describeNeeding, freePort } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { missingPrograms } from '../../support/clients/client-programs.js';
import { startClusterSystem } from '../../support/clusters/start-cluster-system.js';
import { dashboards, sentExpression } from '../../support/dashboards.js';
import { labelsInSource, metricsPage } from '../../support/metrics-page.js';
import { complaintsOfPromtool, missingProgram } from '../../support/prometheus.js';
import { textsOf, unknownLabels } from '../../support/promql.js';
import { builtFile } from '../../support/system/program.js';
import { issueToken } from '../../support/system/start-system.js';
import { type Ends, undo, ZONE } from '../../support/system/system-parts.js';

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: { readonly severity: string };
  readonly annotations?: { readonly runbook_url: string };
}

const file = builtFile('infra/monitoring/rules.yaml');
const { groups } = parse(readFileSync(file, 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
/** What Prometheus makes of our label where it is scraped wrongly. */
const renamedLabel = 'exported_service';
const recorded = new Set(rules.map(({ record }) => record));
/** Exists only in a service that terminates TLS itself. */
const ofTls = 'corral_tls_certificate_expiry_timestamp_seconds';
/** Exists only in a reconciler with a mail server. */
const ofMails = 'corral_mails_total';
const isMadeElsewhere = (name: string) => [ofTls, ofMails, 'ALERTS'].includes(name);

describe('the alerts', () => {
  it.each(rules.map(({ expr }) => expr))('have an expression without syntax errors: %s', (expr) => {
    expect(textsOf(expr, '⚠')).toEqual([]);
  });

  it('use labels that their metrics have', () => {
    const known = labelsInSource();
    const unknown = rules.flatMap(({ expr }) => unknownLabels(expr, known));

    expect(unknown.filter((label) => label !== renamedLabel)).toEqual([]);
  });

  it('have a section in the runbook', () => {
    const headings = readFileSync(builtFile('docs/runbooks/alerts.md'), 'utf8').match(/^## .*$/gm) ?? [];
    const sections = headings.map((line) => line.slice(3).toLowerCase().replaceAll(' ', '-'));

    for (const { annotations } of rules.filter(({ alert }) => alert !== undefined)) {
      const [page, section] = annotations?.runbook_url.split('#') ?? [];
      expect(page).toBe('docs/runbooks/alerts.md');
      expect(sections).toContain(section);
    }
  });
});

it('a symptom for which somebody is woken has an alert for absent series', () => {
  const isOfLevel = (name: string) => recorded.has(name) || /^corral_(http|build_info)/.test(name);
  const namesOf = (these: readonly Rule[]) => these.flatMap(({ expr }) => textsOf(expr, 'Identifier'));
  const paging = rules.filter(({ labels }) => labels?.severity === 'page');
  const watched = new Set(namesOf(paging.filter(({ alert }) => alert === 'CorralReportsMissing')));

  expect(namesOf(paging).filter((name) => !isOfLevel(name) && !watched.has(name))).toEqual([]);
});

const STRANGER = 'stranger7f3';

/** Sends a text of its own in every place that a client without a token can choose. */
async function beStrange(bases: readonly (string | undefined)[]): Promise<void> {
  const paths = [
    `/${STRANGER}`,
    `/zones/${STRANGER}`,
    `/zones/${ZONE}/rrsets/${STRANGER}/A`,
    `/api/v1/teams/${STRANGER}/clusters/${STRANGER}/`,
    `/problems/${STRANGER}`,
    '/auth/token/',
  ];
  const headers = { authorization: `Bearer ${STRANGER}`, 'user-agent': STRANGER, origin: `https://${STRANGER}.test` };
  for (const base of bases) {
    for (const path of paths) {
      for (const method of ['GET', 'DELETE', 'PURGE', 'MKCOL']) {
        await fetch(`${base}${path}?${STRANGER}=${STRANGER}`, { method, headers });
      }
      const body = new URLSearchParams({ grant_type: STRANGER, subject_token: STRANGER, account: STRANGER });
      await fetch(`${base}${path}`, { method: 'POST', headers, body });
    }
  }
}

describe('a running system', () => {
  const ends: Ends = [];
  let scraped = '';
  let byService: Readonly<Record<string, string>> = {};
  let logOfGateway = () => '';
  beforeAll(async () => {
    const [port, apiPort] = [await freePort(), await freePort()];
    const gatewayEnv = () => ({ METRICS_PORT: String(port), LOG_LEVEL: 'info' });
    const apiEnv = { METRICS_PORT: String(apiPort) };
    const system = await startClusterSystem({ gateways: 1, gatewayEnv, apiEnv });
    ends.push(system.stop);
    const token = await issueToken(system.databaseUrl, 'acme');
    for (const bearer of ['wrong', token]) {
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
      await fetch(`${system.gateways[0]?.url}/zones/${ZONE}/rrsets`, { method: 'POST', body: '{}', headers });
    }
    logOfGateway = () => system.gateways[0]?.output() ?? '';
    await beStrange([system.gateways[0]?.url, system.apis[0]?.base]);
    const scrape = async (url = '') => (await fetch(url)).text();
    byService = {
      'dns-gateway': await scrape(`http://127.0.0.1:${port}/metrics`),
      'cluster-api': await scrape(`http://127.0.0.1:${apiPort}/metrics`),
      reconciler: await scrape(system.reconcilers[0]?.metricsUrl),
    };
    scraped = Object.values(byService).join('\n');
  });
  afterAll(() => undo(ends));

  it('has the metrics that the documentation lists', () => {
    const page = builtFile('docs/metrics.md');
    const text = metricsPage(byService);
    if (process.env.CORRAL_WRITE_DOCS) writeFileSync(page, text);

    expect(readFileSync(page, 'utf8')).toBe(text);
  });

  describeNeeding(describe, missingPrograms('jq'), 'the searches of the runbook "A team says"', () => {
    const page = readFileSync(builtFile('docs/runbooks/a-team-says.md'), 'utf8');
    const searches = [...page.matchAll(/^docker compose logs --no-log-prefix dns-gateway \| (.*)$/gm)].map(
      ([, command = '']) => command,
    );
    const lines = () =>
      logOfGateway()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .join('\n');
    const run = (command: string) => spawnSync('bash', ['-c', command], { input: lines(), encoding: 'utf8' });

    it('find a request by its id: who sent it, and what came of it', () => {
      const refused = JSON.parse(
        lines()
          .split('\n')
          .find((line) => line.includes('"status":401')) as string,
      );
      const { stdout } = run((searches[0] ?? '').replace('<request-id>', refused.requestId));

      expect(JSON.parse(stdout)).toMatchObject({ code: 'unauthorized', client: '127.0.0.1', userAgent: 'node' });
    });

    it.each(searches)('are accepted by jq: %s', (search) => {
      const { status, stderr } = run(`set -o pipefail; ${search}`);

      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    });
  });

  it('has no label with a text of a client', () => {
    const methods = new Set([...scraped.matchAll(/[{,]method="([^"]*)"/g)].map(([, method]) => method));

    expect(scraped).not.toContain(STRANGER);
    expect([...methods].sort()).toEqual(['DELETE', 'GET', 'POST', 'PUT', '_OTHER']);
  });

  it('has every metric that the alerts and dashboards use', () => {
    const panels = dashboards.flatMap(([, dashboard]) => dashboard.panels);
    const expressions = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => targets.map((target) => sentExpression(target))),
    ];
    const used = new Set(expressions.flatMap((expression) => textsOf(expression, 'Identifier')));
    const known = new Set(
      [...scraped.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name, type]) =>
        type === 'histogram' ? [`${name}_count`, `${name}_sum`, `${name}_bucket`] : [`${name}`],
      ),
    );
    const missing = [...used].filter((name) => !known.has(name) && !recorded.has(name) && !isMadeElsewhere(name));

    expect(used.size).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });

  it('has the series whose first increase an alert must see', () => {
    const alarming = /^corral_reconcile_(passes_total\{outcome="failed_(bug|platform)"|pauses_total\{reason=").* 0$/;

    expect(byService.reconciler?.split('\n').filter((line) => alarming.test(line))).toHaveLength(5);
  });

  it.each(['[^"]*/zones/[^"]*', 'unmatched'])('counts writes of the gateway by the route %s', (route) => {
    const series = `service="dns-gateway",route="${route}",method="POST",status="4..`;

    expect(scraped.split('\n')).toContainEqual(
      expect.stringMatching(`^corral_http_request_duration_seconds_count{${series}`),
    );
  });
});

describeNeeding(describe, missingProgram('promtool'), 'promtool', () => {
  it('accepts the rules', () => {
    expect(complaintsOfPromtool('check', file)).toBe('');
  });

  it('sees the alerts that recorded series should cause, and no others', () => {
    expect(complaintsOfPromtool('test', builtFile('infra/monitoring/rules.test.yaml'))).toBe('');
  });
});
