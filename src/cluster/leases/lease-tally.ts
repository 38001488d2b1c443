/** How often what came to pass, for metrics. */
export type LeaseTally = ReturnType<typeof createLeaseTally>;

export function createLeaseTally() {
  return {
    deploy: { success: 0, fail: 0 },
    teardown: { success: 0, fail: 0 },
  };
}
