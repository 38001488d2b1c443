/** Versions are numbers that only grow in every API server we know of; of others none is later. */
export function isLaterVersion(version: string, than: string): boolean {
  const isNumber = /^\d+$/;
  return isNumber.test(version) && isNumber.test(than) && BigInt(version) > BigInt(than);
}
