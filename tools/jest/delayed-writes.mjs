/**
 * Loaded into a process with `--import`: a part of what it writes to TCP connections is delayed, as a network or a busy machine would do.
 * What one connection sends stays in its order.
 */
import { Socket } from 'node:net';

const SHARE = 0.15;
const DELAY_MS_MAX = 80;

/** Tests replace the global one. */
const { setTimeout } = globalThis;
const { prototype } = Socket;
const write = prototype._writeGeneric;
if (typeof write !== 'function') throw new Error('This version of Node.js writes to sockets in another way.');

prototype._writeGeneric = function writeLater(isVector, data, encoding, callback) {
  const isTcp = this._handle?.constructor.name === 'TCP';
  if (!isTcp || this.connecting || Math.random() > SHARE) return write.call(this, isVector, data, encoding, callback);
  setTimeout(() => {
    try {
      if (this.destroyed || !this._handle) throw new Error('closed meanwhile');
      write.call(this, isVector, data, encoding, callback);
    } catch {
      callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }));
    }
  }, Math.random() * DELAY_MS_MAX);
};
