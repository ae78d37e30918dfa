import type { Env } from '../../system/system-parts.js';
import {
  type Client,
  ddnsUpdater,
  dnscontrol,
  externalDns,
  externalDnsWebhook,
  hcloudGo,
  hcloudRust,
  lego,
  pythonProgram,
} from '../client-programs.js';
import { NEAR_QUOTA } from './faults.js';
import { deleteOrphans, registryOf, relativeAliases, ZONE_TTL } from './registry.js';
import type { Kept, Remedy, Runs } from './stories.js';
import { type WantedStates, wantedAddresses } from './wanted.js';

/**
 * A client of other people, unchanged, in the folder `tests/clients/<folder>`. `tests/clients/README.md` says what the folder has
 * to hold, and how a row is added.
 */
export interface ClientRow {
  /** The name of the client and the slug of its team, so 3 to 24 lower-case letters, digits and hyphens. */
  readonly name: string;
  /** The name that its users say; a heading of tests and a cell of the page. */
  readonly title: string;
  readonly folder: string;
  /** The file of the folder that pins the version, and the package whose version it is. */
  readonly pin: {
    readonly file: 'go.mod' | 'requirements.txt' | 'collections.txt' | 'Cargo.lock' | 'programs.txt';
    readonly of: string;
  };
  /** The version of its last run by `npm run test:long -- clients`: raise it after a run with the pinned one. */
  readonly ranWith: string;
  /** Finds or builds its command. */
  readonly provide: () => Promise<Client>;
  /** Files of the folder that the page shows. The client finds them in its own folder, with the names of the test in them. */
  readonly snippets?: readonly string[];
  /** What a machine needs in order to build it, as the page says it. */
  readonly needs: string;
  /** Arguments before the step. */
  readonly args?: readonly string[];
  readonly env?: Env;
  readonly address: 'endpoint' | 'built-in';
  /** Whether it keeps record sets, or gets certificates for names. */
  readonly story: 'records' | 'certificates';
  /** The number of further record sets. The default is 30. */
  readonly many?: number;
  /** What it is told to keep. The default is every kind of record set and of change. */
  readonly states?: (team: string) => WantedStates;
  /** False for a client that never deletes a set, so that the test does. */
  readonly deletes?: boolean;
  /** What the zone then holds. The default is what it is told to keep. */
  readonly keeps?: Kept;
  /** What people do by hand when a run was cut off, before the client runs again. */
  readonly remedy?: Remedy;
  /** The parts whose steps do not all succeed in their first run, or `all` of them. */
  readonly runs?: Readonly<Record<string, Runs>>;
  /** What its run shows in particular, as the page says it: a sentence. */
  readonly proves: string;
  readonly timeoutMs?: number;
}

/** How a part of the client's tests ends. */
export const runsOf = ({ runs = {} }: ClientRow, part: string): Runs => runs[part] ?? runs.all ?? 'first';

const ansible = (): Promise<Client> =>
  pythonProgram('ansible', 'keep.py', { atLeast: [3, 11], completedBy: ['complete.py', 'collections.txt'] });

export const clientRows: readonly ClientRow[] = [
  {
    name: 'hcloud-go',
    title: 'hcloud-go, 10 at a time',
    folder: 'hcloud-go',
    pin: { file: 'go.mod', of: 'github.com/hetznercloud/hcloud-go/v2' },
    ranWith: '2.47.0',
    provide: hcloudGo,
    needs: 'Go',
    args: ['10'],
    address: 'endpoint',
    story: 'records',
    proves: 'The calls of the Terraform provider, with a state file like that of Terraform.',
  },
  {
    name: 'hcloud-go-30',
    title: 'hcloud-go, 30 at a time',
    folder: 'hcloud-go',
    pin: { file: 'go.mod', of: 'github.com/hetznercloud/hcloud-go/v2' },
    ranWith: '2.47.0',
    provide: hcloudGo,
    needs: 'Go',
    args: ['30'],
    address: 'endpoint',
    story: 'records',
    many: 90,
    proves: 'The same with `-parallelism=30`.',
  },
  {
    name: 'lego',
    title: 'lego',
    folder: 'lego',
    pin: { file: 'go.mod', of: 'github.com/go-acme/lego/v5' },
    ranWith: '5.6.0',
    provide: lego,
    needs: 'Go',
    address: 'built-in',
    story: 'certificates',
    snippets: ['certificate.sh', 'delegated.sh'],
    proves: 'A wildcard certificate, and one of a foreign name whose `_acme-challenge` is a CNAME, from pebble.',
  },
  {
    name: 'hcloud-rust',
    title: 'the crate `hcloud`',
    folder: 'hcloud-rust',
    pin: { file: 'Cargo.lock', of: 'hcloud' },
    ranWith: '0.26.0',
    provide: hcloudRust,
    needs: 'Rust',
    address: 'endpoint',
    story: 'records',
    proves: 'A client with types generated from the OpenAPI document of the upstream.',
  },
  {
    name: 'external-dns',
    title: 'ExternalDNS: flags, TXT registry, plan',
    folder: 'external-dns',
    pin: { file: 'go.mod', of: 'sigs.k8s.io/external-dns' },
    ranWith: '0.22.0',
    provide: externalDns,
    needs: 'Go',
    address: 'endpoint',
    story: 'records',
    snippets: ['values.yaml'],
    keeps: registryOf,
    many: 9,
    proves: 'Owners and wildcards in the TXT registry, with a provider of ours.',
  },
  {
    name: 'external-dns-webhook',
    title: 'ExternalDNS with the Hetzner webhook',
    folder: 'external-dns',
    pin: { file: 'programs.txt', of: 'external-dns-hetzner-webhook' },
    ranWith: '1.0.2',
    provide: externalDnsWebhook,
    needs: 'Go, and the webhook on PATH',
    args: ['webhook'],
    address: 'built-in',
    story: 'records',
    snippets: ['values.yaml'],
    keeps: (wanted, stage) => registryOf(wanted, stage, { ttl: ZONE_TTL }).map(relativeAliases),
    remedy: deleteOrphans,
    runs: { [NEAR_QUOTA]: 'by hand' },
    many: 9,
    proves: 'The same, with the webhook as a process of its own.',
  },
  {
    name: 'dnscontrol',
    title: 'DNSControl',
    folder: 'dnscontrol',
    pin: { file: 'programs.txt', of: 'dnscontrol' },
    ranWith: '4.40.0',
    provide: dnscontrol,
    needs: '`dnscontrol` on PATH',
    address: 'built-in',
    story: 'records',
    snippets: ['creds.json', 'dnsconfig.js', 'records.js'],
    proves: '`dnscontrol push`, which deletes what its files do not have, and `dnscontrol get-zones`.',
  },
  {
    name: 'ddns-updater',
    title: 'ddns-updater',
    folder: 'ddns-updater',
    pin: { file: 'programs.txt', of: 'ddns-updater' },
    ranWith: '2.10.0',
    provide: ddnsUpdater,
    needs: '`ddns-updater` on PATH',
    address: 'built-in',
    story: 'records',
    states: wantedAddresses,
    runs: { all: 'again' },
    deletes: false,
    snippets: ['config.json'],
    proves: 'Names follow an address, for IPv4 and IPv6. It never deletes.',
  },
  {
    name: 'hcloud-python',
    title: 'hcloud-python',
    folder: 'hcloud-python',
    pin: { file: 'requirements.txt', of: 'hcloud' },
    ranWith: '2.27.0',
    provide: () => pythonProgram('hcloud-python', 'keep.py'),
    needs: 'Python 3 with venv',
    address: 'endpoint',
    story: 'records',
    proves: 'A program with a state file, which waits for every action.',
  },
  {
    name: 'octodns',
    title: 'octoDNS with octodns-hetzner',
    folder: 'octodns',
    pin: { file: 'requirements.txt', of: 'octodns-hetzner' },
    ranWith: '2.0.0',
    provide: () => pythonProgram('octodns', 'keep.py'),
    snippets: ['config.yaml'],
    needs: 'Python 3 with venv',
    address: 'built-in',
    story: 'records',
    proves: '`octodns-sync`, which does not wait for actions, and `octodns-dump`.',
  },
  {
    name: 'lexicon',
    title: 'lexicon',
    folder: 'lexicon',
    pin: { file: 'requirements.txt', of: 'dns-lexicon' },
    ranWith: '3.25.2',
    provide: () => pythonProgram('lexicon', 'keep.py'),
    needs: 'Python 3 with venv',
    address: 'built-in',
    story: 'records',
    proves: 'Changes of single records, found by the zone’s SOA record.',
  },
  {
    name: 'ansible-hcloud',
    title: 'Ansible, hetzner.hcloud',
    folder: 'ansible',
    pin: { file: 'collections.txt', of: 'ansible' },
    ranWith: '14.5.0',
    provide: ansible,
    snippets: ['hetzner.hcloud.yaml'],
    needs: 'Python 3 with venv',
    args: ['hetzner.hcloud'],
    address: 'endpoint',
    story: 'records',
    many: 0,
    proves: 'A playbook with `zone_rrset` and `zone_rrset_info` of the collection 6.12.0.',
  },
  {
    name: 'ansible-community',
    title: 'Ansible, community.dns',
    folder: 'ansible',
    pin: { file: 'collections.txt', of: 'ansible' },
    ranWith: '14.5.0',
    provide: ansible,
    snippets: ['community.dns.yaml'],
    needs: 'Python 3 with venv',
    args: ['community.dns'],
    address: 'built-in',
    story: 'records',
    proves: 'A playbook with `hetzner_dns_record_sets` of the collection 4.2.0, which also prunes.',
  },
  {
    name: 'certbot',
    title: 'certbot with certbot-dns-hetzner-cloud',
    folder: 'certbot',
    pin: { file: 'requirements.txt', of: 'certbot-dns-hetzner-cloud' },
    ranWith: '1.1.0',
    provide: () => pythonProgram('certbot', 'keep.py'),
    snippets: ['cli.ini'],
    needs: 'Python 3 with venv, and Go',
    address: 'built-in',
    story: 'certificates',
    proves: 'Certificates of pebble, with a wildcard and with a challenge delegated by CNAME.',
  },
];
