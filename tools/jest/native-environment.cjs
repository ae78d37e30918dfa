const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/**
 * The environment of a test file is the Node.js process itself, not a context of its own: see `native-runtime.cjs`. What a
 * file replaced for itself (mocks, fake timers, the console) is put back when it ends.
 */
module.exports = class NativeEnvironment {
  constructor({ globalConfig, projectConfig }) {
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.globalConfig = globalConfig;
    this.before = { console: globalThis.console, exit: process.exit, env: { ...process.env } };
  }

  getVmContext() {
    return null;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    globalThis.console = this.before.console;
    process.exit = this.before.exit;
    for (const name of Object.keys(process.env)) if (!(name in this.before.env)) delete process.env[name];
    Object.assign(process.env, this.before.env);
  }
};
