import type { GroupSpec } from "../../market/group-spec.ts";

/** How many addresses a group asks to lease. Endpoints of one number share an address, in whichever unit they stand. */
export function neededAddresses({ units }: GroupSpec): bigint {
  const leased = units.flatMap(({ endpoints }) => endpoints.filter(({ kind }) => kind === "leased-ip"));
  return BigInt(new Set(leased.map(({ sequenceNumber }) => sequenceNumber)).size);
}
