import { timestamp } from '../clock.js';
import type { KubeObject } from './kube/object.js';
import { objectOf, type StoreRecord } from './objects/held.js';
import type { ObjectStore } from './objects/object-store.js';

/** The lifetime of one Shoot. Later Shoots of the same name are separate. */
export interface ShootLife {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** RFC 3339; null while it exists. */
  readonly deletedAt: string | null;
}

/** Every Shoot ever created, oldest first. Shows whether any was created twice. */
export class ShootHistory {
  readonly #lives = new Map<string, ShootLife>();
  readonly #living = new Map<string, string>();

  list(): ShootLife[] {
    return [...this.#lives.values()];
  }

  /** Records events of the store from now on. */
  follow(store: ObjectStore, now: () => number): void {
    store.subscribe('shoots', ({ type, held }) => {
      if (type === 'ADDED') this.#born(objectOf(held));
      if (type === 'DELETED') this.#died(`${held.namespace}/${held.name}`, timestamp(now()));
    });
  }

  /** Restores a journal line. @returns whether the line belongs to this history */
  restore(record: StoreRecord | { life: ShootLife }): boolean {
    if ('life' in record) {
      this.#add(record.life);
      return true;
    }
    if (record.resource !== 'shoots') return false;
    if (record.object !== null) this.#born(record.object);
    else this.#died(record.key, timestamp(record.at ?? 0));
    return false;
  }

  *lines(): Iterable<string> {
    for (const life of this.#lives.values()) yield JSON.stringify({ life });
  }

  #born({ metadata }: KubeObject): void {
    const { namespace = '', name = '', uid = '', creationTimestamp = '' } = metadata;
    if (!this.#lives.has(uid)) this.#add({ namespace, name, uid, createdAt: creationTimestamp, deletedAt: null });
  }

  #died(key: string, deletedAt: string): void {
    const life = this.#lives.get(this.#living.get(key) ?? '');
    if (life !== undefined) this.#add({ ...life, deletedAt });
  }

  #add(life: ShootLife): void {
    const key = `${life.namespace}/${life.name}`;
    this.#lives.set(life.uid, life);
    if (life.deletedAt === null) this.#living.set(key, life.uid);
    else if (this.#living.get(key) === life.uid) this.#living.delete(key);
  }
}
