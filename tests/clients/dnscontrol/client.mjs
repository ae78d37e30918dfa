// Keeps the record sets of a team with `dnscontrol push`, by the files that the page shows. What it believes to have is what
// `dnscontrol get-zones` says.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const { CORRAL_TEAM, CORRAL_WANTED, CORRAL_ZONE, HCLOUD_TOKEN } = process.env;
const env = { ...process.env, DNS_TOKEN: HCLOUD_TOKEN };

const unquoted = (text) => text.replace(/^"(.*)"$/, '$1');

/** The records of a set as lines of `records.js`: names are relative to that of the team, texts are not quoted. */
const declared = ({ name, type, ttl, values }) =>
  values.map((value) => {
    const target = type === 'TXT' ? unquoted(value) : value;
    return `${type}(${JSON.stringify(name.slice(0, -CORRAL_TEAM.length - 1))}, ${JSON.stringify(target)}, TTL(${ttl}))`;
  });

function held() {
  const listed = execFileSync('dnscontrol', ['get-zones', '--format=tsv', 'corral', CORRAL_ZONE], {
    env,
    encoding: 'utf8',
  });
  const sets = new Map();
  for (const line of listed.split('\n').filter((each) => each.split('\t').length > 5)) {
    const [, name, ttl, , type, value] = line.split('\t');
    const set = sets.get(`${name} ${type}`) ?? { name, type, ttl: Number(ttl), values: [] };
    set.values.push(type === 'TXT' ? `"${value}"` : value);
    sets.set(`${name} ${type}`, set);
  }
  console.log(JSON.stringify({ sets: [...sets.values()] }));
}

function apply() {
  const wanted = JSON.parse(readFileSync(CORRAL_WANTED, 'utf8'));
  // null is for a test of the page: its own records.js.
  if (wanted !== null) {
    const records = wanted.flatMap(declared);
    writeFileSync(
      'records.js',
      `D_EXTEND(${[JSON.stringify(`${CORRAL_TEAM}.${CORRAL_ZONE}`), ...records].join(',\n')});\n`,
    );
  }
  execFileSync('dnscontrol', ['push'], { env, stdio: 'inherit' });
}

process.argv.at(-1) === 'apply' ? apply() : held();
