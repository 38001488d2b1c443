/** Keys and certificates that come from strangers. */

/** What OpenSSL makes of them, or undefined: it throws in many ways, and that it cannot read them is all that counts. */
export function readByOpenssl<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}
