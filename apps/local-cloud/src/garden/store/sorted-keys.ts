/** Keys in the order in which etcd lists them: by bytes. */
export class SortedKeys {
  readonly #keys: string[];

  constructor(keys: readonly string[]) {
    this.#keys = [...keys].sort(compareKeys);
  }

  all(): readonly string[] {
    return this.#keys;
  }

  add(key: string): void {
    const index = this.#indexOf(key);
    if (this.#keys[index] !== key) this.#keys.splice(index, 0, key);
  }

  remove(key: string): void {
    const index = this.#indexOf(key);
    if (this.#keys[index] === key) this.#keys.splice(index, 1);
  }

  /** Where the key is, or would have to be. */
  #indexOf(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#keys[middle] ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const compareKeys = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
