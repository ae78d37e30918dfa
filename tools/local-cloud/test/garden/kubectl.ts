import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Runs kubectl, asynchronously, as the garden runs in this process. @returns everything that it prints */
export function kubectlWith(kubeconfig: string, folder: string) {
  const path = join(folder, 'kubeconfig');
  writeFileSync(path, kubeconfig);
  return async (...args: string[]): Promise<string> => {
    const child = spawn('kubectl', args, { env: { ...process.env, KUBECONFIG: path, HOME: folder } });
    const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return out + errors;
  };
}
