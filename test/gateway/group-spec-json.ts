/** A group as a client of the network writes it in JSON. */
import { formatDecimal } from "../../src/market/decimal.ts";
import { writeUnit } from "../../src/market/group-json.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";

export function groupSpecJson({ name, requirements, units }: GroupSpec) {
  const { allOf, anyOf, attributes } = requirements;
  return {
    name,
    requirements: { signed_by: { all_of: allOf, any_of: anyOf }, attributes },
    resources: units.map((unit) => ({
      resource: writeUnit(unit),
      count: unit.count,
      price: { denom: unit.price.denom, amount: formatDecimal(unit.price.amount) },
    })),
  };
}
