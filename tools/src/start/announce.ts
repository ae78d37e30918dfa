import { type DevFile, type DevTeam, UPSTREAM_NAME } from './dev-file.js';

export interface Running extends DevFile {
  /** Null if there are no demos. */
  readonly courseCode: string | null;
  readonly logs: string;
  /** Null if it is `.corral/`. */
  readonly stateDir: string | null;
}

/** Prints what a person needs to continue: addresses, tokens, and commands that work as they are. */
export function announcement(running: Running): string {
  const {
    dnsUrl,
    dnsTlsUrl,
    baseUrl,
    consoleUrl,
    zoneName,
    demoZoneName,
    courseCode,
    teams,
    upstream,
    logs,
    stateDir,
  } = running;
  return [
    '',
    'Corral is ready.',
    '',
    `  DNS API      ${dnsUrl}   (reference: ${dnsUrl.replace(/\/v1$/, '/docs/')})`,
    `  over TLS     ${dnsTlsUrl}`,
    `  Console      ${consoleUrl}`,
    `  Cluster API  ${baseUrl}   (reference: ${baseUrl}/docs/)`,
    `  Zone         ${zoneName}`,
    ...(courseCode === null ? [] : [`  Demo zone    ${demoZoneName}   (course code: ${courseCode})`]),
    ...teams.map(({ slug, dnsToken }) => `  Team ${slug.padEnd(7)} ${dnsToken}`),
    ...(upstream.adminUrl === null
      ? []
      : [
          `  Local cloud  ${upstream.adminUrl}/admin/zones (zone contents; the same address serves faults and call counts)`,
          `  Mails        ${upstream.adminUrl}/admin/mails (all mails are kept here, none is delivered)`,
        ]),
    `  Logs         ${logs}`,
    '',
    'Try, in another shell:',
    '',
    ...dnsCommands(running),
    '',
    ...builtInCommands(running),
    '',
    ...clusterCommands(running),
    '',
    stateDir === null
      ? 'Ctrl-C stops everything. The state stays in .corral/ until `npm run reset`.'
      : `Ctrl-C stops everything. The state stays in ${stateDir}.`,
    '',
  ].join('\n');
}

function dnsCommands({ dnsUrl, zoneName, dnsServerPort, courseCode, teams: [team] }: Running): string[] {
  const name = `api.${team?.slug}`;
  const body = `{"name":"${name}","type":"A","ttl":300,"records":[{"value":"192.0.2.10"}]}`;
  return [
    `  export HCLOUD_ENDPOINT=${dnsUrl} HCLOUD_TOKEN=${team?.dnsToken}`,
    '',
    `  curl -sS -H "Authorization: Bearer $HCLOUD_TOKEN" -H 'Content-Type: application/json' \\`,
    `    $HCLOUD_ENDPOINT/zones/${zoneName}/rrsets -d '${body}'`,
    `  hcloud zone rrset list ${zoneName}`,
    dnsServerPort === null
      ? `  dig ${name}.${zoneName}`
      : `  dig @127.0.0.1 -p ${dnsServerPort} ${name}.${zoneName} +short`,
    ...(courseCode === null
      ? []
      : [`  curl -sS -H 'Content-Type: application/json' $HCLOUD_ENDPOINT/demos -d '{"course_code":"${courseCode}"}'`]),
  ];
}

/** Commands for clients with a built-in address: they trust our authority, and the name of the upstream leads to us. */
function builtInCommands({ dnsTlsUrl, caFile }: Running): string[] {
  const { host } = new URL(dnsTlsUrl);
  return [
    `  # clients with the built-in address ${UPSTREAM_NAME}: docs/clients.md`,
    `  export SSL_CERT_FILE=${caFile} NODE_EXTRA_CA_CERTS=${caFile}`,
    '',
    `  curl -sS -H "Authorization: Bearer $HCLOUD_TOKEN" --cacert $SSL_CERT_FILE \\`,
    `    --connect-to ${UPSTREAM_NAME}:443:${host} https://${UPSTREAM_NAME}/v1/zones`,
    `  # other clients: add "127.0.0.1 ${UPSTREAM_NAME}" to /etc/hosts and run DNS_GATEWAY_TLS_PORT=443 npm start`,
  ];
}

function clusterCommands({ baseUrl, upstream, defaults, teams: [team] }: Running): string[] {
  if (team === undefined || team.connectionRef === null) return [];
  const { region, kubernetesVersion, machineType } = defaults;
  const spec = {
    connectionRef: team.connectionRef,
    region,
    kubernetesVersion,
    nodePools: [{ name: 'general', machineType, minimum: 2, maximum: 3 }],
  };
  return [
    `  export CLUSTERS=${baseUrl}/api/v1/teams/${team.slug}/clusters COOKIE=sessionid=${team.admin.sessionid}`,
    '',
    `  curl -sS -b $COOKIE -X PUT -H 'Content-Type: application/json' $CLUSTERS/web/ \\`,
    `    -d '${JSON.stringify({ spec })}'`,
    `  until curl -sS -b $COOKIE $CLUSTERS/web/ | grep -q '"phase":"Ready"'; do sleep 1; done`,
    `  curl -sS -b $COOKIE -X POST $CLUSTERS/web/kubeconfig/ | node -p \\`,
    `    'JSON.parse(fs.readFileSync(0)).kubeconfig' > web.kubeconfig`,
    '  kubectl --kubeconfig web.kubeconfig get nodes',
    '',
    '  # the command line does all of this, too: docs/cli.md',
    `  npm run -s corral -- login --url ${baseUrl} --team ${team.slug}`,
    ...(upstream.adminUrl === null ? [] : invitationCommands(baseUrl, team.slug)),
    ...adoptionCommands(team, `${baseUrl}/api/v1/teams/${team.slug}/connections/${team.connectionRef}/`),
  ];
}

function invitationCommands(baseUrl: string, slug: string): string[] {
  const email = 'ada@example.org';
  return [
    '',
    '  # invite a user, who then signs in with the address only and accepts as the mail says: docs/teams.md',
    `  curl -sS -b $COOKIE -H 'Content-Type: application/json' ${baseUrl}/a/${slug}/team/api/invitations/ \\`,
    `    -d '${JSON.stringify({ email })}'`,
    `  curl -sS -c cookies -H 'Content-Type: application/json' ${baseUrl}/auth/dev-login/ -d '${JSON.stringify({ email })}'`,
  ];
}

function adoptionCommands({ servers: [server] }: DevTeam, connectionUrl: string): string[] {
  if (server === undefined) return [];
  const body = { spec: server, acknowledge: { confirm: 'WIPE' } };
  return [
    '',
    `  # adopt a server of the local cloud, which wipes it: docs/adopted-servers.md`,
    `  curl -sS -b $COOKIE -H 'Content-Type: application/json' ${connectionUrl}adopted-servers/ \\`,
    `    -d '${JSON.stringify(body)}'`,
  ];
}
