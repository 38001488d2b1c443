/** What the promise comes to, unless the signal is aborted first: then its reason. The work itself goes on. */
export async function endedBy<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([stopped.promise, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
