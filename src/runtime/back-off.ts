/** The pause after so many failures in a row (1, 2, 3 …): twice as long each time, up to a bound. */
export function growingPauseMs(firstMs: number, mostMs: number, failures: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), mostMs);
}
