import { beforeAll, expect, it } from '@jest/globals';
import { clustersBeside, headingOf, nameFieldOf, planned, planOf } from '../../support/console/clusters-beside.js';
import { closePage, type DevTeam, expectAccessible, type RunningConsole } from '../../support/console/start-console.js';

/** Clusters: made by keyboard, used, retried and deleted. */
export function testClusters(started: () => RunningConsole): void {
  let running: RunningConsole;
  let clusters: ReturnType<typeof clustersBeside>;
  beforeAll(async () => {
    running = started();
    clusters = clustersBeside(running);
    await clusters.hurryGarden();
  });
  const declareReady = async (name: string) => {
    await clusters.declare(name);
    await clusters.untilReady(name);
  };

  it('creates a cluster by keyboard, after its plan was shown', async () => {
    const empty = running.dev.teams[1] as DevTeam;
    const page = await running.open(`/teams/${empty.slug}/clusters`, { sessionid: empty.admin.sessionid });
    await page.getByText('No clusters. A draft costs nothing.').waitFor();
    await page.keyboard.press('n');
    await headingOf(page, 'Create cluster').waitFor();
    await nameFieldOf(page).waitFor();
    await page.keyboard.type('web');
    await planOf(page).getByText('Its control plane and its nodes are created.').waitFor();
    await planOf(page).getByText('(default)').first().waitFor();
    await planned(page);
    await page.keyboard.press('Control+Enter');

    await headingOf(page, 'web').waitFor();
    await page.getByText('Ready', { exact: true }).waitFor();
    await page.locator(':focus').waitFor();
    await closePage(page);
  });

  it('issues a kubeconfig that stays in memory, and says to whom one was issued', async () => {
    await declareReady('reached');
    const page = await running.open('/teams/acme/clusters/reached/access');
    await page.getByText('No kubeconfig was issued yet.').waitFor();
    await page.getByLabel('Lifetime (minutes)').fill('30');
    await page.getByRole('button', { name: 'Issue kubeconfig' }).press('Enter');
    const config = page.getByRole('region', { name: 'kubeconfig', exact: true });
    await config.getByText('kind: Config').waitFor();
    await page.getByRole('button', { name: 'Copy kubeconfig' }).press('Enter');
    await expect(page.evaluate(() => navigator.clipboard.readText())).resolves.toContain('client-key-data');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download acme-reached.kubeconfig' }).press('Enter'),
    ]);
    expect(download.suggestedFilename()).toBe('acme-reached.kubeconfig');
    await page.getByText('kubectl config use-context acme/reached').waitFor();
    await page.getByRole('row', { name: /admin@acme\.test/ }).waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(
      'client-key',
    );
    await expectAccessible(page);
    await closePage(page);
  });

  it('follows an operation, shows why it failed and who has to act, and retries it', async () => {
    const effect = { codes: ['ERR_INFRA_QUOTA_EXCEEDED'], message: 'Server limit reached.' };
    await clusters.admin('POST', '/garden/shoot-faults', [{ operations: ['Create'], times: null, effect }]);
    await clusters.declare('batch');
    const page = await running.open('/teams/acme/clusters');
    await page
      .getByRole('row', { name: /^batch/ })
      .getByRole('link', { name: /cluster\.create/ })
      .press('Enter');
    await headingOf(page, 'cluster.create of batch').waitFor();
    await page.getByText('failed', { exact: true }).waitFor();
    await page.getByText('Your team has to act.').waitFor();
    await expectAccessible(page);
    await clusters.admin('DELETE', '/garden/shoot-faults', {});
    await page.getByRole('button', { name: 'Retry batch' }).press('Enter');
    await page.getByRole('link', { name: 'batch' }).press('Enter');
    await headingOf(page, 'batch').waitFor();
    await page.getByText('Ready', { exact: true }).waitFor();
    await closePage(page);
  });

  it('deletes a cluster once its name was typed, and says what is lost', async () => {
    await declareReady('unwanted');
    // The deletion lasts until the page has shown it.
    await clusters.admin('POST', '/garden/shoot-faults', [
      { operations: ['Delete'], times: null, effect: { stuck: true } },
    ]);
    const page = await running.open('/teams/acme/clusters/unwanted/danger');
    await page.getByRole('button', { name: 'Delete unwanted' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Delete unwanted' });
    await dialog.getByText('deleted', { exact: true }).waitFor();
    await dialog.getByText(/^Saves .* per month/).waitFor();
    await page.keyboard.type('unwonted');
    await page.keyboard.press('Enter');
    await dialog.getByText('This is not unwanted.').waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('Type unwanted to confirm').fill('unwanted');
    await page.keyboard.press('Enter');
    await page.getByText('Deleting', { exact: true }).first().waitFor();
    await clusters.admin('DELETE', '/garden/shoot-faults', {});
    await page.getByText('Not found, or not in your teams.').waitFor();
    await closePage(page);
  });
}
