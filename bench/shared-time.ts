/** Now, to a fraction of a millisecond, and alike in all processes of this machine. */
export function sharedMs(): number {
  return performance.timeOrigin + performance.now();
}
