const asyncHooks = require('node:async_hooks');
const { createHash } = require('node:crypto');
const { mkdtempSync, rmSync } = require('node:fs');
const { register } = require('node:module');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');

/**
 * Loads test files as Node.js loads any module, instead of in a context of their own with their own copy of everything
 * they import. Jest's runtime evaluates the whole app anew for each file, more than a second of CPU time each; here a
 * worker loads it once. Only the test files themselves, and Jest's framework, are evaluated for each file. So modules
 * under test, and the helpers of tests, must not keep state between files.
 *
 * It serves what `jest-runner` and `jest-circus` call of `jest-runtime`. Module mocks and coverage are not among that.
 */
module.exports = class NativeRuntime {
  constructor(_config, environment) {
    this.environment = environment;
    /** Of the framework that runs this file. */
    this.storages = [];
    registerHooks();
  }

  /** A fresh framework for each file: it keeps its state in its module, and in globals. */
  requireInternalModule(path) {
    for (const name of ['EVENT_HANDLERS', 'TEST_TIMEOUT_SYMBOL', 'RETRY_TIMES']) delete globalThis[Symbol.for(name)];
    delete require.cache[require.resolve(path)];
    return this.noteStorages(() => require(path));
  }

  /**
   * A framework makes an AsyncLocalStorage of its own and never disables it. While it is enabled, Node.js copies its store to
   * every promise, timer and socket that anything makes: the hundredth file of a worker would pay for a hundred of them.
   */
  noteStorages(load) {
    const { AsyncLocalStorage } = asyncHooks;
    const { storages } = this;
    // Node.js 24 has a getter there.
    const original = Object.getOwnPropertyDescriptor(asyncHooks, 'AsyncLocalStorage');
    const value = class extends AsyncLocalStorage {
      constructor(...args) {
        super(...args);
        storages.push(this);
      }
    };
    Object.defineProperty(asyncHooks, 'AsyncLocalStorage', {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
    try {
      return load();
    } finally {
      Object.defineProperty(asyncHooks, 'AsyncLocalStorage', original);
    }
  }

  requireModule(path) {
    return require(path);
  }

  setGlobalsForRuntime(globals) {
    globalThis[Symbol.for('corral.jest.globals')] = { ...globals, jest: this.jestObject() };
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** A query makes it another module for Node.js, so that a worker that runs the file again evaluates it again. */
  async unstable_importModule(path) {
    evaluations += 1;
    try {
      return await import(`${pathToFileURL(path).href}?${evaluations}`);
    } catch (error) {
      await this.environment.report('while the file was loaded');
      throw error;
    }
  }

  jestObject() {
    const { moduleMocker, fakeTimersModern } = this.environment;
    const jest = {
      fn: moduleMocker.fn.bind(moduleMocker),
      spyOn: moduleMocker.spyOn.bind(moduleMocker),
      mocked: (source) => source,
      isMockFunction: moduleMocker.isMockFunction.bind(moduleMocker),
      getSeed: () => this.environment.globalConfig.seed,
    };
    const chained = (target, name) => {
      jest[name] = (...args) => {
        target[name](...args);
        return jest;
      };
    };
    for (const name of ['clearAllMocks', 'resetAllMocks', 'restoreAllMocks']) chained(moduleMocker, name);
    for (const name of ['useRealTimers', 'setSystemTime']) chained(fakeTimersModern, name);
    jest.useFakeTimers = (options = {}) => {
      const doNotFake = [...NEVER_FAKED, ...(options.doNotFake ?? [])];
      fakeTimersModern.useFakeTimers({ ...options, doNotFake });
      return jest;
    };
    for (const name of [
      'advanceTimersByTime',
      'advanceTimersByTimeAsync',
      'advanceTimersToNextTimer',
      'advanceTimersToNextTimerAsync',
      'clearAllTimers',
      'getTimerCount',
      'runAllTicks',
      'runAllTimers',
      'runAllTimersAsync',
      'runOnlyPendingTimers',
      'runOnlyPendingTimersAsync',
    ]) {
      jest[name] = fakeTimersModern[name].bind(fakeTimersModern);
    }
    jest.now = () => fakeTimersModern.now();
    jest.setTimeout = (ms) => {
      globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')] = ms;
      return jest;
    };
    return jest;
  }

  clearAllMocks() {
    this.environment.moduleMocker.clearAllMocks();
  }

  resetAllMocks() {
    this.environment.moduleMocker.resetAllMocks();
  }

  restoreAllMocks() {
    this.environment.moduleMocker.restoreAllMocks();
  }

  enterTestCode() {}
  leaveTestCode() {}

  /** Stacks name a module as it was imported: by its URL, with the query. */
  getSourceMaps() {
    return {
      get: (generated) => (/\.ts(\?\d+)?$/.test(generated) ? mapFileOf(generated) : undefined),
      *[Symbol.iterator]() {},
    };
  }

  getAllCoverageInfoCopy() {}

  teardown() {
    for (const storage of this.storages) storage.disable();
  }
};

/**
 * What was begun in another file of the worker may still have a turn to take, and a callback that a fake swallowed would be
 * lost for it.
 */
const NEVER_FAKED = ['nextTick', 'queueMicrotask', 'setImmediate'];

let evaluations = 0;
let mapsDir;

/** Once per worker: from then on Node.js loads TypeScript, and finds Jest's globals. */
function registerHooks() {
  if (mapsDir !== undefined) return;
  mapsDir = mkdtempSync(join(tmpdir(), 'corral-source-maps-'));
  process.on('exit', () => rmSync(mapsDir, { recursive: true, force: true }));
  register(pathToFileURL(join(__dirname, 'typescript-hooks.mjs')), { data: { mapsDir } });
}

function mapFileOf(generated) {
  const path = generated.startsWith('file:') ? fileURLToPath(generated.replace(/^file:\/*/, 'file:///')) : generated;
  return join(mapsDir, createHash('sha256').update(path).digest('hex'));
}
