/** How often a property or a seed is tried: a quick count for every change, a large one for `npm run test:long`. */
export const long = process.env["TEST_LONG"] === "1";

export function runs(quick: number, many: number): number {
  return long ? many : quick;
}
