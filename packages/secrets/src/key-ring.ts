import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

export interface Key {
  readonly id: string;
  /** 32 bytes. */
  readonly bytes: Buffer;
}

/** A text in its stored form. */
export interface Sealed {
  /** Id of the key that opens it. */
  readonly keyId: string;
  /** Nonce (12), ciphertext, tag (16). */
  readonly bytes: Uint8Array;
}

/** A stored text cannot be decrypted: its key is not in the ring, or the text, its owner or the key was changed. */
export class SecretUnreadable extends Error {
  override readonly name = 'SecretUnreadable';
  constructor(
    readonly reason: 'unknown_key' | 'altered',
    message: string,
  ) {
    super(message);
  }
}

/** Seals with the first key and opens with any. Printing or serialising it shows only the names of its keys. */
export class KeyRing {
  readonly #keys: readonly Key[];

  /** @param keys newest first, at least one, with unique ids */
  constructor(keys: readonly [Key, ...Key[]]) {
    this.#keys = keys;
  }

  get keyIds(): string[] {
    return this.#keys.map(({ id }) => id);
  }

  /** @param owner what the text belongs to, such as the id of its row; required to open it */
  seal(text: string, owner: string): Sealed {
    const { id, bytes: key } = this.#keys[0] as Key;
    // Random nonces are safe for 2^32 texts per key, far more than there are connections.
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(owner));
    const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return { keyId: id, bytes };
  }

  /** @throws SecretUnreadable */
  open({ keyId, bytes }: Sealed, owner: string): string {
    const key = this.#keys.find(({ id }) => id === keyId);
    if (key === undefined) {
      throw new SecretUnreadable(
        'unknown_key',
        `The secret was sealed with the key "${keyId}", which is not in SECRET_KEYS.`,
      );
    }
    const altered = () =>
      new SecretUnreadable(
        'altered',
        `The secret does not open with the key "${keyId}": it, its owner or the key is not the one it was sealed with.`,
      );
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw altered();
    const sealed = Buffer.from(bytes);
    const decipher = createDecipheriv(ALGORITHM, key.bytes, sealed.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(owner))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      throw altered();
    }
  }

  /** Opens a text, or returns null for one that cannot be decrypted. */
  openOrNull(sealed: Sealed, owner: string): string | null {
    try {
      return this.open(sealed, owner);
    } catch (error) {
      if (error instanceof SecretUnreadable) return null;
      throw error;
    }
  }

  /** Whether the text should be sealed again, so that older keys can be removed. */
  isOutdated({ keyId }: Pick<Sealed, 'keyId'>): boolean {
    return keyId !== this.#keys[0]?.id;
  }

  toJSON(): object {
    return { keyIds: this.keyIds };
  }
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
