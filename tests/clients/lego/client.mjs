// Gets certificates with the scripts that the page shows, and says which there are. $LEGO is the folder of the command.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { delimiter } from 'node:path';

const { CORRAL_ACME, CORRAL_RESOLVER, CORRAL_WANTED, CORRAL_ZONE, HETZNER_API_TOKEN, LEGO, PATH, SSL_CERT_FILE } =
  process.env;
const env = {
  ...process.env,
  PATH: `${LEGO}${delimiter}${PATH}`,
  DNS_TOKEN: HETZNER_API_TOKEN,
  HETZNER_API_TOKEN: undefined,
  // What a test has in the place of Let's Encrypt and of name servers on port 53.
  LEGO_SERVER: CORRAL_ACME,
  LEGO_DNS_RESOLVERS: CORRAL_RESOLVER,
  LEGO_DNS_PROPAGATION_DISABLE_ANS: 'true',
};

if (process.argv.at(-1) === 'apply') {
  copyFileSync(SSL_CERT_FILE, 'bundle.pem');
  for (const names of JSON.parse(readFileSync(CORRAL_WANTED, 'utf8')).certificates) {
    const script = names.every((name) => name.endsWith(CORRAL_ZONE)) ? 'certificate.sh' : 'delegated.sh';
    execFileSync('sh', ['-e', script], { env, stdio: 'inherit' });
  }
} else {
  const listed = execFileSync('lego', ['certificates', 'list', '--path', 'certificates', '--json'], { env });
  const certificates = (JSON.parse(listed) ?? []).map(({ domains }) => domains);
  console.log(JSON.stringify({ certificates }));
}
