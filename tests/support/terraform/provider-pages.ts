import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, goProgram } from '../clients/client-programs.js';
import { runCommand } from '../clients/run-command.js';
import { builtFile } from '../system/program.js';
import { startTerraform } from './terraform.js';

/* The pages of the provider, as registries show them: made by tfplugindocs from its schema and its examples. */

export const HOW =
  'CORRAL_WRITE_DOCS=1 CORRAL_TEST_LONG=1 npm test -- tests long/clients-terraform-provider.test -t pages';
const folder = builtFile('clients/terraform-provider-corral');

export const tfplugindocs = (): Promise<Client> =>
  goProgram('tfplugindocs', 'github.com/hashicorp/terraform-plugin-docs/cmd/tfplugindocs', {
    file: 'tfplugindocs',
    folder: join(folder, 'tools'),
  });

/** @returns what is committed, and what it should be, by file; they are the same after `CORRAL_WRITE_DOCS` */
export async function providerPages(provider: Client, generator: Client) {
  const copy = await mkdtemp(join(tmpdir(), 'corral-provider-pages-'));
  const terraform = await startTerraform(provider, {});
  try {
    await terraform.configure('');
    // The generator looks for a provider of this publisher.
    const schema = (await terraform.insist('providers', 'schema', '-json')).replaceAll(
      '/corral/corral',
      '/hashicorp/corral',
    );
    await writeFile(join(copy, 'schema.json'), schema);
    await cp(join(folder, 'examples'), join(copy, 'examples'), { recursive: true });
    const options = [
      '--provider-name',
      'corral',
      '--rendered-provider-name',
      'Corral',
      '--providers-schema',
      'schema.json',
    ];
    const [program = ''] = generator.kind === 'found' ? generator.command : [];
    const { code, stdout, stderr } = await runCommand([program, 'generate', ...options], { cwd: copy });
    if (code !== 0) throw new Error(`tfplugindocs ended with ${code}: ${stdout}${stderr}`);
    if (process.env.CORRAL_WRITE_DOCS) {
      await rm(join(folder, 'docs'), { recursive: true, force: true });
      await cp(join(copy, 'docs'), join(folder, 'docs'), { recursive: true });
    }
    return { committed: await filesIn(join(folder, 'docs')), wanted: await filesIn(join(copy, 'docs')) };
  } finally {
    await terraform.remove();
    await rm(copy, { recursive: true, force: true });
  }
}

async function filesIn(parent: string): Promise<Record<string, string>> {
  const names = (await readdir(parent, { recursive: true })).filter((name) => name.endsWith('.md')).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(parent, name), 'utf8')));
  return Object.fromEntries(names.map((name, at) => [name, texts[at] as string]));
}
