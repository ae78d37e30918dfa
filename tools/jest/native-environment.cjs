const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

const TEST_FILE = Symbol.for('corral.test.file');

/**
 * The environment of a test file is the Node.js process itself, not a context of its own: see `native-runtime.cjs`. What a
 * file replaced for itself (mocks, fake timers, the console) is put back when it ends.
 */
module.exports = class NativeEnvironment {
  constructor({ globalConfig, projectConfig }, { testPath }) {
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.globalConfig = globalConfig;
    /** See `packages/testing/src/test-file.ts`. */
    this.testFile = { path: testPath, testsAdded: 0, explanations: new Set(), processes: [] };
    globalThis[TEST_FILE] = this.testFile;
    this.described = new Set();
    this.before = { console: globalThis.console, exit: process.exit, env: { ...process.env } };
  }

  getVmContext() {
    return null;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  async setup() {}

  async handleTestEvent(event) {
    if (event.name === 'add_test') this.testFile.testsAdded += 1;
    const { name, test, describeBlock, hook } = event;
    if (name === 'test_fn_failure' || (name === 'hook_failure' && test)) await this.describeFailure(test);
    else if (name === 'hook_failure') await this.describeFailure(describeBlock, hook.type);
    else if (name === 'test_done' && test.errors.length > 0 && !this.hasDescribedBlock(test))
      await this.describeFailure(test);
  }

  /** Of a test or a block of tests, once. What explains it is asked before the hooks that clean up. */
  async describeFailure(failed, hookType) {
    if (this.described.has(failed)) return;
    this.described.add(failed);
    await this.report([...titlesOf(failed), ...(hookType ? [hookType] : [])].join(' › '));
  }

  /** When `beforeAll` fails, each test below it fails for the same reason. */
  hasDescribedBlock(failed) {
    for (let at = failed; at; at = at.parent) if (this.described.has(at)) return true;
    return false;
  }

  async report(what) {
    this.hasFailed = true;
    const { describeFailure } = await import('@corral/testing');
    process.stderr.write(await describeFailure(this.testFile, what));
  }

  async teardown() {
    if (this.hasFailed) (await import('@corral/testing')).writeLogs(this.testFile); // now with how all of them ended
    delete globalThis[TEST_FILE];
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    globalThis.console = this.before.console;
    process.exit = this.before.exit;
    for (const name of Object.keys(process.env)) if (!(name in this.before.env)) delete process.env[name];
    Object.assign(process.env, this.before.env);
  }
};

function titlesOf(failed) {
  const titles = [];
  for (let at = failed; at?.parent; at = at.parent) titles.unshift(at.name);
  return titles;
}
