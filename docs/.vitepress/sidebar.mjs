/** The order of the site: three audiences, each with four kinds of pages. A test fails for a page of docs/ that is not here. */
const page = (text, path) => ({ text, link: `/${path.replace(/README$/, 'index')}` });
const docs = (text, name) => page(text, `docs/${name}`);
const kind = (text, items) => ({ text, collapsed: true, items });

export const sidebar = [
  {
    text: 'For teams',
    items: [
      kind('Tutorial', [docs('The tour', 'tour'), docs('My app at its own name', 'how-to/my-app')]),
      kind('How to', [
        docs('Clusters with Terraform', 'how-to/terraform-clusters'),
        docs('Terraform in CI', 'how-to/terraform-in-ci'),
        docs('A team in git', 'how-to/team-in-git'),
        docs('Upgrade Kubernetes', 'how-to/upgrade-kubernetes'),
        docs('A name on a cluster', 'how-to/name-on-a-cluster'),
        docs('Give read access', 'how-to/give-read-access'),
        docs('A machine at home as a node', 'how-to/machine-at-home'),
        docs('Why is my write slow?', 'how-to/slow-writes'),
        docs('Undo a change', 'how-to/undo-a-change'),
        docs('Temporary record sets', 'how-to/temporary-records'),
        docs('Names that lead nowhere', 'how-to/dangling-names'),
        docs('The web console', 'console'),
        docs('Generated clients', 'generated-clients'),
      ]),
      kind('Reference', [
        docs('The command line', 'cli'),
        docs('DNS clients', 'clients'),
        docs('Rules of record names', 'record-names'),
        docs('Limits and quotas', 'limits'),
        docs('Errors of the DNS API', 'errors'),
        docs('DNS tokens and usage', 'dns-tokens'),
        docs('Problems of the cluster API', 'problems'),
        docs('Phases and reasons', 'status'),
        docs('Access', 'access'),
        docs('Connections', 'connections'),
        docs('Catalogue', 'catalogue'),
        docs('Dry runs', 'dry-runs'),
        docs('Kubeconfigs', 'kubeconfigs'),
        docs('Adopted servers', 'adopted-servers'),
        docs('Service accounts', 'service-accounts'),
        docs('Teams', 'teams'),
        docs('Live changes', 'live-changes'),
        docs('Webhooks', 'webhooks'),
        page('Typed client', 'packages/client/README'),
      ]),
      kind('Explanation', [
        docs('Cost', 'cost'),
        docs('Usage over time', 'usage'),
        docs('What changes, and when', 'deprecation'),
      ]),
    ],
  },
  {
    text: 'For operators',
    items: [
      kind('Tutorial', [docs('Running Corral', 'operate')]),
      kind('How to', [
        docs('Install on plain machines', 'how-to/plain-machines'),
        docs('Install without internet', 'how-to/air-gapped'),
        docs('Sign in with your provider', 'how-to/sign-in-recipes'),
        docs('Import a zone', 'runbooks/import-a-zone'),
        docs('Restore a backup', 'runbooks/restore-a-backup'),
        docs('Replace lost parts', 'runbooks/replace-lost-parts'),
        docs('A team says …', 'runbooks/a-team-says'),
        docs('Rotate keys', 'runbooks/rotate-keys'),
        docs('Alerts', 'runbooks/alerts'),
        docs('Scale the reconciler', 'runbooks/scale-the-reconciler'),
        docs('Enable garden features', 'runbooks/enable-garden-features'),
      ]),
      kind('Reference', [
        page('The operator’s command', 'apps/admin/README'),
        page('Variables of the gateway', 'apps/dns-gateway/README'),
        page('Variables of the cluster API', 'apps/cluster-api/README'),
        page('Variables of the reconciler', 'apps/reconciler/README'),
        docs('Sign-in', 'sign-in'),
        docs('Metrics', 'metrics'),
        docs('Dashboards', 'dashboards'),
        page('Accounts in the garden', 'infra/garden/README'),
      ]),
      kind('Explanation', [
        docs('What one upstream token carries', 'upstream-budget'),
        docs('The envelope', 'envelope'),
        docs('Postgres', 'postgres'),
        docs('Monitoring', 'monitoring'),
        docs('Traces', 'traces'),
        docs('Threat model', 'threat-model'),
      ]),
    ],
  },
  {
    text: 'For contributors',
    items: [
      kind('Tutorial', [page('Contributing', 'CONTRIBUTING')]),
      kind('How to', [docs('Releases', 'releasing'), docs('Conformance', 'conformance')]),
      kind('Reference', [
        docs('Glossary', 'glossary'),
        page('Tests of the whole system', 'tests/README'),
        docs('All pages', 'README'),
      ]),
      kind('Explanation', [
        docs('Architecture', 'architecture'),
        docs('How the reconciler works', 'reconciler'),
        docs('How the cluster API works', 'cluster-api'),
        docs('Decisions', 'decisions/README'),
      ]),
    ],
  },
];
